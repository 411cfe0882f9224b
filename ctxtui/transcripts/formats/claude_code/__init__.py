"""Claude Code's session files with those of its subagents; also written, so that it resumes them."""
