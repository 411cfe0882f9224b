"""Messages API + its validators."""
