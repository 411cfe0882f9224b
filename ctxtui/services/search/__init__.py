"""Search one session or all of them, and keep the full-text index."""
