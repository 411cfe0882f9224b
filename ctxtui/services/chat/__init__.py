"""Hosts a chat with an agent: its model, its requests under edits, the record of every turn."""
