"""Goose: sessions in its database, and its request logs."""
