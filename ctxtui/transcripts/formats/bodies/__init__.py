"""Plain bodies of API requests and answers in any dialect, one or many in a file."""

from ctxtui.transcripts.formats.bodies.formats import BARE, NAMES, open_as, sniff_as

__all__ = ["BARE", "NAMES", "open_as", "sniff_as"]
