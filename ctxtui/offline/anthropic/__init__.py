"""Anthropic's Messages API as the offline provider serves it, with validators of its requests."""
