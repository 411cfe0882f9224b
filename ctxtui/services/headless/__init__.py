"""Runs one task of an agent with nobody at the screen: rounds, limits, what is told of them, the result."""
