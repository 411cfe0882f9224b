"""Recorded sessions, call by call, through other policies, cache strategies and models, without a model call."""
