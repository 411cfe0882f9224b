"""Searches one session or all of them, and fills the full-text index."""
