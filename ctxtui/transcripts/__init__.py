"""Reads the recordings of other tools: bytes in, events of a session out, the format chosen by content."""
