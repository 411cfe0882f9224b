"""Codex rollouts; also written, for Codex to resume."""
