"""The content of a block as lines."""
