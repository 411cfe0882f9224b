"""One dialect to another, for exports and branches."""
