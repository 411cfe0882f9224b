"""Label rules and segments."""
