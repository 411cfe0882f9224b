"""Commands that try policies, caches and models on recordings, or find the best ones."""
