"""Codex rollouts; also written, so that Codex resumes them."""

from ctxtui.transcripts.formats.codex.reader import BARE, NAME, CodexReader, sniff

__all__ = ["BARE", "NAME", "CodexReader", "sniff"]
