"""Policies: rules that propose edits; one file each, one line in the registry."""
