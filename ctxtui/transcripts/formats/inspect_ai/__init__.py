"""Inspect's logs: one JSON, or a ZIP archive (``.eval``) of one JSON a sample (facts §11)."""

from ctxtui.transcripts.formats.inspect_ai.reader import NAME, reader, sniff

__all__ = ["NAME", "reader", "sniff"]
