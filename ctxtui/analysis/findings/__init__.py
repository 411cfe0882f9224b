"""Findings: true sentences about a context, each with the edits or the setting that cure it; one module a kind."""
