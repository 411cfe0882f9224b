"""Codex rollouts; also written, so that Codex resumes them."""

from ctxtui.transcripts.formats.codex.session import BARE, COMPANIONS, NAME, CodexReader, kin, sniff

__all__ = ["BARE", "COMPANIONS", "NAME", "CodexReader", "kin", "sniff"]
