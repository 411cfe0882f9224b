"""Commands that show what is in a session: show, diff, audit, cache, search, notes."""
