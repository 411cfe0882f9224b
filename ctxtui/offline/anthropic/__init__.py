"""Anthropic's Messages API as served by the offline provider, with validators of its requests."""
