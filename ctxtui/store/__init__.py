"""Storage: one SQLite file with sessions (each block once), edits, notes and tags.

- ``schema``: the file, its tables and migrations.
- `block_codec`, ``sessions``: each block once; sessions as rows.
- `notes`, `fulltext`, `cache`, `leases`: further tables. `writer`: the thread that writes a live session.
- `store`: the facade of all.

SQLite connections belong to the thread that made them, and a query may take long: open a `Store` in a worker thread,
never in Textual's event loop.
"""
