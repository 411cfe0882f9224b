"""A session in the database: written, grown call by call, read back, listed, changed."""
