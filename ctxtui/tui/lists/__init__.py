"""Lists over the inspector: misses, threads, the bill and others."""
