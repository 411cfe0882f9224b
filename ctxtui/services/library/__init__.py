"""All sessions of the user: Home's list, actions, notes, spending, limits."""
