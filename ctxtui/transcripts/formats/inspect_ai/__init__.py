"""Inspect's logs: one JSON, or a ZIP archive (``.eval``) with one JSON for each sample."""
