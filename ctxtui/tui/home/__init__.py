"""Home: the screen that lists the user's sessions, and what its keys do to them."""
