"""Find, open, read, follow recordings."""
