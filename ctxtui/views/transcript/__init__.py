"""Rows of the transcript, one per block: opened, staged, with search hits, or streaming."""
