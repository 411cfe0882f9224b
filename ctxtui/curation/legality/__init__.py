"""Checks whether a provider accepts a request, and finds the edits that repair it."""
