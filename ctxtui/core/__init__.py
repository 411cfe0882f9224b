"""Canonical form, blocks, tree, calls, usage: the words everything else is built from. Imports nothing of ours."""
