"""Kimi Code's sessions; also written, for Kimi Code to resume."""
