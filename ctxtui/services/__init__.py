"""Everything that a screen or a command asks for: sessions found, read, counted, edited, hosted."""
