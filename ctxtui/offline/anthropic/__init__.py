"""Anthropic's Messages API as the offline provider serves and validates it."""
