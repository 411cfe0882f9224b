"""The map of a context: a small picture of every block, drawn cell by cell."""
