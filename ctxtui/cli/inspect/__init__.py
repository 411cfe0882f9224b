"""Commands that show what is in a session: show, growth, diff, audit, cache, search, notes."""
