"""Chats of sub-agents, started by a chat's model."""
