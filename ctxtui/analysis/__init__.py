"""Replay cursor, growth, forecast and audit over recorded calls."""
