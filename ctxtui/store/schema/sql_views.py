"""Views for people who open the file with sqlite3, sqlite-utils or Datasette.

A view cannot unpack zstd, so they show previews; `ctxtui show` shows bodies. Views hold no data: a migration that
changes a table drops and makes them all again with `make_views`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sqlite_utils.db import Database


def _iso(column: str) -> str:
    return f"strftime('%Y-%m-%dT%H:%M:%SZ', {column}, 'unixepoch')"


VIEWS: Final = {
    "block_previews": """
        SELECT b.key, lower(hex(b.digest)) AS digest, b.kind, b.size, c.name AS codec, length(b.body) AS stored,
               coalesce(b.preview, substr(CAST(b.body AS TEXT), 1, 200)) AS preview
        FROM blocks b JOIN codecs c ON c.key = b.codec""",
    "run_blocks": """
        SELECT r.session, r.key AS run, r.depth + row_number() OVER (PARTITION BY r.key ORDER BY g.key, i.key)
               AS position, p.section, p.role, p.mark, b.kind, b.size, b.preview, b.digest
        FROM runs r, json_each(r.items) g, json_each(g.value) i
        JOIN places p ON p.key = json_extract(g.value, '$[0]')
        JOIN block_previews b ON b.key = i.value
        WHERE i.key > 0""",
    "calls_readable": f"""
        SELECT s.id AS session, coalesce(s.name, s.title) AS title, t.id AS thread, c.number, c.id,
               {_iso("c.started")} AS started, round(c.ended - c.started, 3) AS seconds, c.provider, c.model,
               c.fidelity, c.epoch, c.epoch_start, c.epoch_detail,
               c.fresh + c.cache_read + c.write_5m + c.write_1h + c.write_30m + c.write_12h AS input,
               c.cache_read, c.write_5m + c.write_1h + c.write_30m + c.write_12h AS cache_write, c.fresh,
               c.output, c.reasoning, c.cost, c.price_version, c.reported_cost, c.stop_reason, c.error,
               coalesce(r.depth, 0) + c.sent_at AS blocks, c.sent_run AS run, c.sent_at AS at, c.line
        FROM calls c JOIN sessions s ON s.key = c.session JOIN threads t ON t.key = c.thread
        LEFT JOIN runs r ON r.key = c.sent_run""",
    "calls_once": """
        SELECT * FROM calls c WHERE c.key =
          (SELECT d.key FROM calls d WHERE d.id = c.id ORDER BY d.output DESC, d.key LIMIT 1)""",
    "session_overview": f"""
        SELECT s.id, coalesce(s.name, s.title) AS title, s.source, s.cwd, s.model, s.calls, s.threads,
               {_iso("s.started")} AS started, {_iso("s.ended")} AS ended, s.peak, s.input, s.cache_read, s.output,
               s.cost, (SELECT group_concat(tag, ', ') FROM tags WHERE session = s.key) AS tags, s.archived,
               (SELECT path FROM sources WHERE session = s.key ORDER BY key LIMIT 1) AS path,
               (SELECT count(*) FROM session_blocks WHERE session = s.key) AS blocks,
               {_iso("s.imported")} AS imported
        FROM sessions s""",
}
"""Name and query of every view."""


def make_views(db: Database) -> None:
    """Make every view anew."""
    for name, query in VIEWS.items():
        db.create_view(name, query.strip(), replace=True)
