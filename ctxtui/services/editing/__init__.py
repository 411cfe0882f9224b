"""Edits of an open session: staged, priced for the next request, kept, exported."""
