"""Plain bodies of the three dialects: requests, answers, pairs of them, messages, and JSON lines of any of these."""

from ctxtui.transcripts.formats.bodies.formats import BARE, NAMES, open_as, sniff_as

__all__ = ["BARE", "NAMES", "open_as", "sniff_as"]
