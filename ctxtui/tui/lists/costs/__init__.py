"""Lists of costs."""
