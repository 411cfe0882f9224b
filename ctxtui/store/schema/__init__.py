"""The database itself: its file, its tables and their history, views for people who open it."""
