"""Commands that open and manage: open, chat, import, sessions, database, settings, doctor."""
