"""Goose: sessions in its database and its exports, also written to be imported; its request logs."""
