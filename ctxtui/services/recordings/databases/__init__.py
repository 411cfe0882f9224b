"""Sessions that other programs keep in SQLite databases: where they lie, and each by its address."""
