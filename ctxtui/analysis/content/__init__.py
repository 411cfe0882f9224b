"""Content of blocks: differences, duplicates, tools, files, notes, and the lifetime of each block."""
