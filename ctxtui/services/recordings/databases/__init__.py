"""Sessions that other programs store in SQLite databases: their lists, and their addresses."""
