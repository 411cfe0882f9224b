"""Rows of the transcript, staged and live."""
