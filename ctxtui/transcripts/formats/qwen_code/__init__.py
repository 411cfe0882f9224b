"""Qwen Code's chats; also written, for Qwen Code to resume."""
