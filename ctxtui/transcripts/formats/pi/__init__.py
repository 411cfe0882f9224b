"""pi's session files, a list or a tree of entries; also written, so that pi resumes them."""
