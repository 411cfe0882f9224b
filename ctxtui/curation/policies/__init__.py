"""Rules that propose edits: one module for each policy, and the registry."""
