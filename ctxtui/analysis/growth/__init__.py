"""Phases, projection, threads, forks."""
