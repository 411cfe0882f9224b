"""Counts the blocks of a session, caches the counts, prices its calls, applies label rules."""
