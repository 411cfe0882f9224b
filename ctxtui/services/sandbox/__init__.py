"""Runs programs for an agent: confined where this machine can, with limits of time, memory and output."""
