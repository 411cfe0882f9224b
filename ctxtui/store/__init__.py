"""The record: one SQLite file that holds sessions, blocks once each, and what users do with them.

From the file upwards: `database_file` (modes, copies, transactions), `connect` (ours, which schema), `migrations` with
`tables` and `sql_views`, `block_codec` (how a block's JSON is packed), `runs` (a session's tree as rows), `identity`
(which stored session a recording is), `write`, `read`, `listing`, `changes`, `cache`, `maintenance`, and `store`, the
face of it all. SQLite connections belong to the thread that made them, and a query may take long: open a `Store` in a
worker thread, never in Textual's event loop.
"""
