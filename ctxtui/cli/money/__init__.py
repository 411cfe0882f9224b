"""Cost, why, preflight, check."""
