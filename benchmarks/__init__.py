"""Benchmarks: ratios of paired runs in a real pseudo-terminal, on generated data. Run with ``make bench``."""
