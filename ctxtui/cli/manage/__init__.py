"""Open, chat, offline, sessions, db, config, doctor."""
