"""Commands that open and look after things: open, chat, import, sessions, database, settings, doctor."""
