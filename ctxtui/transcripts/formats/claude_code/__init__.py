"""Claude Code's session files: a session's own and those of its subagents (facts §11)."""

from ctxtui.transcripts.formats.claude_code.reader import BARE, COMPANIONS, NAME, ClaudeCodeReader, sniff

__all__ = ["BARE", "COMPANIONS", "NAME", "ClaudeCodeReader", "sniff"]
