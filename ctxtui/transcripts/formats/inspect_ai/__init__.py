"""Inspect's logs: one JSON, or a ZIP archive (``.eval``) with one JSON for each sample."""

from ctxtui.transcripts.formats.inspect_ai.reader import NAME, reader, sniff

__all__ = ["NAME", "reader", "sniff"]
