"""Edits -> what is done: rewrite, closure, insertion."""
