"""Sub-agents of a chat, started by its model, by a user's own tool or from Python."""
