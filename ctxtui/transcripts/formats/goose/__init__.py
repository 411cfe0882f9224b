"""Goose: sessions in its database and its exports, which are also written; request logs."""
