"""Help, palette, find, text editor."""
