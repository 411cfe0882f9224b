"""The lists that open over the inspector: one module for each, such as misses, threads or the bill."""
