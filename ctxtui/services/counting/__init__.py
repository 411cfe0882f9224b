"""Features, books, labels, accounts."""
