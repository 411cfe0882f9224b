"""Goose: sessions in its database, and its logs of requests."""
