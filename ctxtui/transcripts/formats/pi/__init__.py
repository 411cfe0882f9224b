"""pi's session files, a list or a tree of entries; also written, for pi to resume."""
