"""What edits do to a context: closure, rewrite, insertion, markers."""
