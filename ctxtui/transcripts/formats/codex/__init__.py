"""Codex rollouts (facts §11)."""

from ctxtui.transcripts.formats.codex.reader import BARE, NAME, CodexReader, sniff

__all__ = ["BARE", "NAME", "CodexReader", "sniff"]
