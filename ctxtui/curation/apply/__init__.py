"""Applies edits to a context: removals, their repairs, rewritten blocks, insertions."""
