"""Claude Code's session files with those of its subagents; also written, for Claude Code to resume."""
