"""Pattern, in-session and library search, index."""
