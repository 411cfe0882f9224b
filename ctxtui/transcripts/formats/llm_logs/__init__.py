"""The database of simonw/llm: the store of messages by hash, and the tables of older versions."""

from ctxtui.transcripts.formats.llm_logs.reader import NAME, reader, sniff

__all__ = ["NAME", "reader", "sniff"]
