"""What blocks hold: differences, duplicates, tools, files, notes, and how long each block stays."""
