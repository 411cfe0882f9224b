"""API bodies that Claude Code wrote to files, joined to its transcript or read alone."""
