"""Codex rollouts (facts §11)."""

from ctxtui.transcripts.codex.reader import BARE, NAME, CodexReader, sniff

__all__ = ["BARE", "NAME", "CodexReader", "sniff"]
