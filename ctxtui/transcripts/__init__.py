"""Reads the recordings of other tools: bytes in, events of a session out."""
