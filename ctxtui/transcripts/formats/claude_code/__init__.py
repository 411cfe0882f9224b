"""Reads Claude Code's session files and its subagents', and writes them to be resumed."""
