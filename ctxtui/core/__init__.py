"""The words that everything is built from: blocks, the tree, calls, usage, edits, sessions."""
