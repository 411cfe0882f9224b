"""The map of a context: its blocks as pixels in prompt order, drawn cell by cell."""
