"""Pedroceli: a coding agent's jobs on a Go repository, on models with a window of 32k and of 16k."""
