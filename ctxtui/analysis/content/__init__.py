"""Diff, duplicates, tools, search, notes."""
