"""Lists of what was paid, and for what."""
