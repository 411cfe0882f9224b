"""Edits of a context: what they do, whether the provider accepts the result, what they cost."""
