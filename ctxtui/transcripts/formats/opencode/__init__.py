"""OpenCode's sessions: rows of its database or of its storage's files, and its exports; also written."""
