"""Chats that a chat's model starts."""
