"""Inspect's logs: one JSON, or a ZIP archive (``.eval``) of one JSON a sample (facts §11)."""

from ctxtui.transcripts.inspect_ai.reader import BARE, NAME, reader, sniff

__all__ = ["BARE", "NAME", "reader", "sniff"]
