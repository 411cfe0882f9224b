"""The database itself: its file, its tables and their history, and views for people who open it."""
