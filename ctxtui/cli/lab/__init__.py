"""Commands that try something out on recordings: other policies, caches and models, and what would be best."""
