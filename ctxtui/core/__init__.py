"""The basic types of ctxtui: blocks, the tree, calls, usage, edits, sessions."""
