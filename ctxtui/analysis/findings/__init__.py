"""Findings: true sentences about a context, each with the edits or the setting that fix it; one module a kind."""
