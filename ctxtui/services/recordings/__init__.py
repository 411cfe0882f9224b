"""Find recordings, open and read them, and follow those that grow."""
