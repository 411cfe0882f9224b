"""pi's session files, a list or a tree of entries; also written, so that pi resumes them."""

from ctxtui.transcripts.formats.pi.session import reader, sniff

__all__ = ["reader", "sniff"]
