"""SQL of the tables as the migrations make them; it is never changed, not even its comments.

A later schema is a later migration. SQLite keeps the comments, so `.schema` explains itself. Times are Unix seconds
(REAL), tokens whole numbers, money USD. A digest is 16 bytes (`lower(hex(digest))` is its form on screen): as text it
would cost 16 bytes more in the table and again in its index, 3 % of a session's record. A text that holds a lone
surrogate, which UTF-8 cannot, is stored as a BLOB instead; no other text here is ever a BLOB.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sqlite_utils.db import Database


CONTENT: Final = """
CREATE TABLE codecs (        -- how a body is packed; the file carries every dictionary that it needs
  key INTEGER PRIMARY KEY,
  name TEXT NOT NULL,        -- plain, zstd
  dictionary_id INTEGER,     -- the dictionary's own id
  dictionary BLOB
);
CREATE TABLE blocks (        -- each part of a context once, by its digest
  key INTEGER PRIMARY KEY,
  digest BLOB NOT NULL UNIQUE,
  kind TEXT NOT NULL,        -- the provider's word, or header, tool, not_recorded, unreadable
  size INTEGER NOT NULL,     -- bytes of the body before packing
  codec INTEGER NOT NULL REFERENCES codecs(key),
  preview TEXT,              -- the first characters of what it says; NULL where the body itself is readable
  body BLOB NOT NULL         -- canonical JSON: TEXT if plain, else packed
);
CREATE TABLE places (        -- where in a request a block stands
  key INTEGER PRIMARY KEY,
  section TEXT NOT NULL,     -- tools, system, messages
  role TEXT NOT NULL,
  mark TEXT NOT NULL,        -- what a transcript says beyond the request: summary, memory, file, meta
  UNIQUE (section, role, mark)
);
CREATE TABLE skeletons (     -- what is left of a request's body without its blocks
  key INTEGER PRIMARY KEY,
  digest BLOB NOT NULL UNIQUE,
  dialect TEXT NOT NULL,
  size INTEGER NOT NULL,
  codec INTEGER NOT NULL REFERENCES codecs(key),
  body BLOB NOT NULL
);
"""

SESSIONS: Final = """
CREATE TABLE sessions (
  key INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,   -- the recording's own id where it has one
  name TEXT,                 -- the user's title; NULL: the recording's
  archived INTEGER NOT NULL DEFAULT 0,
  imported REAL NOT NULL,
  changed REAL NOT NULL,
  recorded_id TEXT NOT NULL, title TEXT NOT NULL, source TEXT NOT NULL, cwd TEXT NOT NULL,
  client TEXT NOT NULL, version TEXT NOT NULL, window INTEGER NOT NULL,
  model TEXT NOT NULL,       -- from here on: summed up from calls, written together with them
  calls INTEGER NOT NULL, threads INTEGER NOT NULL, started REAL, ended REAL,
  peak INTEGER, input INTEGER, cache_read INTEGER, output INTEGER, cost REAL
);
CREATE TABLE tags (
  session INTEGER NOT NULL REFERENCES sessions(key) ON DELETE CASCADE,
  tag TEXT NOT NULL,
  PRIMARY KEY (session, tag)
) WITHOUT ROWID;
CREATE TABLE sources (       -- the files a session was read from
  key INTEGER PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES sessions(key) ON DELETE CASCADE,
  part INTEGER NOT NULL,     -- 0: the recording itself; 1, 2 ...: companion files
  path TEXT NOT NULL, size INTEGER NOT NULL, mtime, format TEXT NOT NULL,
  codec INTEGER REFERENCES codecs(key), original BLOB,
  UNIQUE (session, path)
);
CREATE INDEX sources_path ON sources(path);
CREATE TABLE session_blocks (
  session INTEGER NOT NULL REFERENCES sessions(key) ON DELETE CASCADE,
  block INTEGER NOT NULL REFERENCES blocks(key),
  PRIMARY KEY (session, block)
) WITHOUT ROWID;
CREATE INDEX session_blocks_block ON session_blocks(block);
CREATE TABLE runs (          -- stretches of context; (run, at) names one: the run's parents, then its first `at` blocks
  key INTEGER PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES sessions(key) ON DELETE CASCADE,
  parent INTEGER,            -- run that this one continues; NULL: from the empty context
  offset INTEGER NOT NULL,   -- how many blocks of the parent come before
  depth INTEGER NOT NULL,    -- blocks before this run, all parents together
  length INTEGER NOT NULL,
  items TEXT NOT NULL        -- JSON [[place, block, block ...], [place, block ...] ...] in prompt order
);
CREATE INDEX runs_session ON runs(session);
CREATE TABLE skipped (
  session INTEGER NOT NULL REFERENCES sessions(key) ON DELETE CASCADE,
  nth INTEGER NOT NULL, line INTEGER NOT NULL, reason TEXT NOT NULL,
  PRIMARY KEY (session, nth)
) WITHOUT ROWID;
CREATE TABLE happenings (    -- an API error, an interrupt; after = id of the call before
  session INTEGER NOT NULL REFERENCES sessions(key) ON DELETE CASCADE,
  nth INTEGER NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL, thread TEXT NOT NULL, at REAL, after TEXT NOT NULL,
  PRIMARY KEY (session, nth)
) WITHOUT ROWID;
CREATE TABLE outcomes (
  session INTEGER NOT NULL REFERENCES sessions(key) ON DELETE CASCADE,
  nth INTEGER NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL,
  PRIMARY KEY (session, nth)
) WITHOUT ROWID;
"""

CALLS: Final = """
CREATE TABLE threads (       -- one line of context: the main agent, a subagent
  key INTEGER PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES sessions(key) ON DELETE CASCADE,
  id TEXT NOT NULL, nth INTEGER NOT NULL, label TEXT NOT NULL, parent TEXT NOT NULL,
  tip_run INTEGER, tip_at INTEGER NOT NULL,
  UNIQUE (session, id)
);
CREATE TABLE calls (         -- requests; *_run, *_at: the context as the agent had it, as it left, after the answer
  key INTEGER PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES sessions(key) ON DELETE CASCADE,
  id TEXT NOT NULL,          -- the provider's message id: the same call in two sessions has one id
  nth INTEGER NOT NULL,      -- order within the session
  thread INTEGER NOT NULL REFERENCES threads(key) ON DELETE CASCADE,
  number INTEGER NOT NULL,   -- order within the thread, from 1
  own_thread TEXT,           -- set where the call itself names another thread than the one it is listed in
  raw_run INTEGER, raw_at INTEGER NOT NULL, sent_run INTEGER, sent_at INTEGER NOT NULL,
  response_run INTEGER, response_at INTEGER NOT NULL,
  provider TEXT NOT NULL, model TEXT NOT NULL, started REAL, first_byte REAL, ended REAL,
  fidelity TEXT NOT NULL, epoch INTEGER NOT NULL, epoch_start TEXT NOT NULL, epoch_detail TEXT NOT NULL,
  fresh INTEGER,             -- NULL: nothing was reported
  cache_read INTEGER, write_5m INTEGER, write_1h INTEGER, write_30m INTEGER, write_12h INTEGER,
  output INTEGER, reasoning INTEGER, output_final INTEGER, has_cache INTEGER,
  reported_cost REAL,        -- the recording's own figure
  cost REAL, price_version TEXT,
  stop_reason TEXT NOT NULL, error TEXT NOT NULL, skeleton INTEGER REFERENCES skeletons(key),
  line INTEGER NOT NULL, byte_start INTEGER NOT NULL, byte_end INTEGER NOT NULL,
  extra TEXT,                -- JSON, what the record says beyond
  UNIQUE (id, session)
);
CREATE INDEX calls_session ON calls(session, nth);
CREATE INDEX calls_thread ON calls(thread, number);
CREATE INDEX calls_skeleton ON calls(skeleton) WHERE skeleton IS NOT NULL;
CREATE TABLE breakpoints (   -- cache markers of a request
  call INTEGER NOT NULL REFERENCES calls(key) ON DELETE CASCADE,
  position INTEGER NOT NULL, -- blocks up to and including the marked one
  ttl TEXT NOT NULL, author TEXT NOT NULL,
  PRIMARY KEY (call, position)
) WITHOUT ROWID;
CREATE TABLE events (        -- what is in flight, until its call is written
  key INTEGER PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES sessions(key) ON DELETE CASCADE,
  call TEXT NOT NULL, at REAL NOT NULL, kind TEXT NOT NULL, data TEXT NOT NULL
);
CREATE INDEX events_session ON events(session, call);
"""

WORK: Final = """
CREATE TABLE edits (         -- the overlay: append-only, a revert is a row of its own
  key INTEGER PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES sessions(key) ON DELETE CASCADE,
  id TEXT NOT NULL, kind TEXT NOT NULL, digest BLOB NOT NULL, occurrence INTEGER NOT NULL,
  author TEXT NOT NULL, at REAL NOT NULL, replacement INTEGER REFERENCES blocks(key), reverts TEXT NOT NULL,
  UNIQUE (session, id)
);
CREATE INDEX edits_replacement ON edits(replacement) WHERE replacement IS NOT NULL;
CREATE TRIGGER edits_append_only BEFORE UPDATE ON edits BEGIN SELECT RAISE(ABORT, 'edits are append-only'); END;
CREATE TABLE artifacts (     -- files that belong to a session: externalised results, exports
  key INTEGER PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES sessions(key) ON DELETE CASCADE,
  name TEXT NOT NULL, media_type TEXT NOT NULL, at REAL NOT NULL, digest BLOB NOT NULL,
  size INTEGER NOT NULL, codec INTEGER NOT NULL REFERENCES codecs(key), body BLOB NOT NULL
);
CREATE INDEX artifacts_session ON artifacts(session);
CREATE TABLE encodings (key INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE token_counts (  -- raw features of a block by way of counting, also of blocks that are not stored
  encoding INTEGER NOT NULL REFERENCES encodings(key),
  digest BLOB NOT NULL,
  features TEXT NOT NULL,    -- JSON list of numbers
  day INTEGER NOT NULL,      -- when it was counted, in days since 1970
  PRIMARY KEY (encoding, digest)
) WITHOUT ROWID;
CREATE TABLE file_summaries (-- what Home shows of a file, until the file changes
  path TEXT PRIMARY KEY,
  size INTEGER NOT NULL, mtime, version TEXT NOT NULL, summary TEXT NOT NULL, at REAL NOT NULL
);
"""

GLANCES: Final = """
CREATE TABLE glances (       -- what the head of a file says of its session: title, directory, version of its client
  path TEXT PRIMARY KEY,
  size INTEGER NOT NULL, title TEXT NOT NULL, cwd TEXT NOT NULL, version TEXT NOT NULL, at REAL NOT NULL
) WITHOUT ROWID;
"""

TEXTS: Final = """
CREATE VIRTUAL TABLE texts USING fts5(
  words, content='', detail=none, columnsize=0, tokenize='trigram case_sensitive 1'
);
"""

SEARCH: Final = f"""
CREATE TABLE indexed (       -- recordings whose text is in the full-text index `texts`: case-folded, in pieces, by
                             -- its sequences of three characters; the index holds no text
  key INTEGER PRIMARY KEY,
  session INTEGER REFERENCES sessions(key) ON DELETE SET NULL,  -- a stored session, or
  path TEXT,                 -- a file; neither: replaced since, or not finished
  size INTEGER NOT NULL, mtime NOT NULL,  -- as it was then; for a stored session its calls and when it was changed
  version INTEGER NOT NULL,  -- of the way in which blocks become text
  first INTEGER NOT NULL, last INTEGER NOT NULL  -- its rows in `texts`
);
CREATE UNIQUE INDEX indexed_path ON indexed(path) WHERE path IS NOT NULL;
CREATE UNIQUE INDEX indexed_session ON indexed(session) WHERE session IS NOT NULL;
{TEXTS.strip()}
"""

NOTES: Final = """
CREATE TABLE notes (         -- what a user wrote about a block or a call, or marked; the session need not be stored
  key INTEGER PRIMARY KEY,
  session TEXT NOT NULL,     -- the recording's own id; where it has none, made of its path
  call TEXT NOT NULL,        -- a call's id, "" for a block
  digest BLOB NOT NULL, occurrence INTEGER NOT NULL,  -- a block: which of its equals on the path; x'' for a call
  bookmark INTEGER NOT NULL, text TEXT NOT NULL, at REAL NOT NULL,
  about TEXT NOT NULL,       -- the beginning of what it is about
  path TEXT NOT NULL,        -- where the recording was
  UNIQUE (session, call, digest, occurrence)
);
"""

LEASES: Final = """
CREATE TABLE leases (        -- processes that host a session; a row of one that is gone binds nobody
  token TEXT PRIMARY KEY,    -- what `events.host` says
  session TEXT NOT NULL,     -- the session's id; its own row may come later
  file INTEGER NOT NULL,     -- the number of this file: a copy of it has no hosts
  machine TEXT NOT NULL, pid INTEGER NOT NULL, born TEXT NOT NULL,  -- the process
  since REAL NOT NULL, beat REAL NOT NULL  -- when it began, when it last said that it is there
) WITHOUT ROWID;
CREATE INDEX leases_session ON leases(session);
"""

KEPT: Final = """
CREATE TABLE kept_figures (  -- what the whole of a recording taught, and the running sums of its contexts
  name BLOB PRIMARY KEY,     -- of the recording, whatever its length
  session TEXT NOT NULL,     -- the recording's own id, "" where it has none
  version BLOB NOT NULL,     -- of the code, models and rules that it was worked out by
  nodes INTEGER NOT NULL, calls INTEGER NOT NULL, fingerprint BLOB NOT NULL,  -- of how much of which content
  checksum BLOB NOT NULL, body BLOB NOT NULL,  -- numbers and ids, packed; no text of the recording
  at REAL NOT NULL
);
CREATE INDEX kept_figures_at ON kept_figures(at);
"""

STRETCHES: Final = """
ALTER TABLE events ADD COLUMN
  parts TEXT /* JSON [[at, length] ...] of several events whose data is joined; NULL: one event */
"""

TERMS: Final = """
CREATE VIRTUAL TABLE texts USING fts5(
  words, content='', detail=none, columnsize=0,
  tokenize="ascii tokenchars '!""#$%&''()*+,-./:;<=>?@[\\]^_`{|}~'"
);
"""


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
    """Create or replace every view."""
    for name, query in VIEWS.items():
        db.create_view(name, query.strip(), replace=True)
