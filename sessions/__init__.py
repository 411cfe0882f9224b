"""Generators of the shipped samples: four agents with context trouble, deterministic to the byte."""
