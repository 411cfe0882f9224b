"""Content of blocks: differences, duplicates, tools, files, notes, and lifetimes."""
