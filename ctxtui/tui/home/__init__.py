"""Home: the list of sessions and its actions."""
