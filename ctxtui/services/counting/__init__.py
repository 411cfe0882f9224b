"""Counts the blocks of a session, remembers the counts, prices its calls, applies label rules."""
