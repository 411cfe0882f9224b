"""Claude Code's session files with those of its subagents; also written, so that it resumes them."""

from ctxtui.transcripts.formats.claude_code.reader import (
    BARE,
    COMPANIONS,
    NAME,
    ClaudeCodeReader,
    reader,
    sniff,
    usage_reader,
)

__all__ = ["BARE", "COMPANIONS", "NAME", "ClaudeCodeReader", "reader", "sniff", "usage_reader"]
