"""Hosts a chat with an agent: its model, its requests under the applied edits, the record of every turn."""
