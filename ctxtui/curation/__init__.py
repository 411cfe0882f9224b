"""Edits of a context: their effects, the provider's rules for the result, their cost."""
