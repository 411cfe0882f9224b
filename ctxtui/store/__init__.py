"""Storage: one SQLite file with sessions (each block once), edits, notes and tags.

The modules from the file upwards:
- `database_file`: modes, copies, transactions. `connect`: checks the file and its schema. `migrations` with `tables`.
- `block_codec`: compression of a block's JSON. `runs`: a session's tree as rows. `identity`: which stored session a
  recording belongs to.
- `write`, `read`, `listing`, `changes`, `cache`; the facade `store`.

SQLite connections belong to the thread that made them, and a query may take long: open a `Store` in a worker thread,
never in Textual's event loop.
"""
