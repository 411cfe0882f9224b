"""The requests that newer clients of Claude Code write down themselves (facts §13.1)."""
