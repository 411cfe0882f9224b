"""Applies edits to a context: what must go with them, what is rewritten, where new blocks stand."""
