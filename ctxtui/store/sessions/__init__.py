"""Sessions in the database: written, extended call by call, read back, listed, changed."""
