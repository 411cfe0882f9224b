"""Findings: true sentences about a context, with what fixes it; one module for each kind."""
