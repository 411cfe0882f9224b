"""Simulates recorded sessions under other policies, cache strategies and models."""
