"""Show, diff, audit, cache, search, notes."""
