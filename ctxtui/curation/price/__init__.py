"""Price tag and breakage of staged edits."""
