"""The record: one SQLite database with migrations, one writer and read-only readers."""
