"""Codex rollouts; also written, so that Codex resumes them."""
