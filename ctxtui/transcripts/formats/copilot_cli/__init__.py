"""Copilot CLI's event files; also written, for Copilot CLI to resume."""
