"""Writes the conversation of one dialect as a request of another."""
