"""Lists over the inspector, one module each: misses, threads, the bill and others."""
