"""Run an agent's task without a screen: rounds, limits, progress lines, result."""
