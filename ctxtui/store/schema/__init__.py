"""The database itself: its file, tables and their history, and views for people who open it."""
