"""All sessions of the user: what Home lists, what is done to them, notes, spending, limits."""
