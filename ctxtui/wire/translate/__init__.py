"""Translates a conversation of one dialect to a request of another."""
