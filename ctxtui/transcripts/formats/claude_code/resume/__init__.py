"""Writes a session as a file that Claude Code resumes."""
