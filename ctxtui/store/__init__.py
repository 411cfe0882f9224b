"""The record: one SQLite file that holds sessions, blocks once each, and what users do with them.

The rooms inside, from the file upwards: `connect` (open, modes, pragmas), `migrations` with `tables` and `readable`
(the schema and its views), `bodies` (how a block's JSON is packed), `layout` (a session's tree as runs), `identity`
(which stored session a recording is), `write`, `read`, `listing`, `change`, `memo`, `upkeep`, and `store`, the face of
it all. SQLite connections belong to the thread that made them, and a query may take long: open a `Store` in a worker
thread, never in Textual's event loop.
"""
