"""Cache forecast, misses, what-if."""
