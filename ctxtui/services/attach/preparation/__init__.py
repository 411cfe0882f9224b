"""Prepare requests before they leave through a relay: forecast, applied edits, policies."""
