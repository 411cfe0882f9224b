"""A damaged database under the commands that read it.

What SQLite itself accepts: pages swapped or of noise, values of another type in a column, rows that point to none. A
command must end with a known exit code and say that the database is damaged, or not have met the damage.
"""

from __future__ import annotations

import os
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Final

from ctxtui.services.config.paths import DATABASE
from tests.cases import claude_code, codex
from tests.faults.fuzzing import Trial, ran, wrong

COMMANDS: Final = (
    ("sessions", "--json"),
    ("show", "ID", "--json"),
    ("show", "ID", "--blocks"),
    ("cost", "ID", "--json"),
    ("cost", "--all", "--json"),
    ("cost", "--all", "--by", "day", "--json"),
    ("stats", "--json"),
    ("search", "the", "--json"),
    ("notes", "--json"),
    ("notes", "ID"),
    ("edits", "ID", "--json"),
    ("curate", "ID", "--policy", "budget", "--json"),
    ("export", "ID", "--to", "ctxtui", "-o", "OUT", "--force"),
    ("growth", "ID", "--json"),
    ("cache", "ID", "--json"),
    ("why", "ID", "--json"),
    ("audit", "ID", "--json"),
    ("rename", "ID", "another"),
    ("tag", "ID", "one"),
    ("archive", "ID"),
    ("import", "FILE"),
    ("db", "info", "--json"),
    ("db", "index"),
    ("db", "backup", "OUT"),
    ("db", "prune", "--older-than", "1d", "--dry-run", "--json"),
    ("db", "vacuum"),
    ("delete", "ID", "--yes"),
)
_ODD: Final[tuple[Any, ...]] = (None, -1, 0, 1 << 62, 1e300, -0.5, "x", "", "[]", "{}", b"\xff\xfe", b"", "[[1]]")


_POINTERS: Final = frozenset(
    "parent session block codec thread skeleton items offset encoding call replacement tip_run tip_at raw_run raw_at "
    "sent_run sent_at response_run response_at".split()
)
"""Columns that name something elsewhere."""


def whole(folder: Path) -> tuple[Path, Path]:
    """A database with two sessions, edits, notes and an index; and the recording that it was made of."""
    file = folder / "claude.jsonl"
    file.write_bytes(claude_code.generate(n_messages=14, seed=1))
    other = folder / "rollout-2026-01-01T00-00-00-0199.jsonl"
    other.write_bytes(codex.generate(12, 1))
    for command in (("import", str(file)), ("import", str(other)), ("db", "index"), ("sessions", "--json")):
        assert ran(list(command)).code == 0, command
    path = folder / "ctxtui" / "ctxtui.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as conn:
        (id_,) = conn.execute("SELECT id FROM sessions ORDER BY key").fetchone()
        ran(["stage", id_, "--drop", "2", "--json"])
        conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path, file


def hurt(path: Path, dice: random.Random) -> str:
    """Damage the database in one to three places; what was done."""
    injuries = dice.choices((_page, _swap, _column, _dangling), (1, 1, 3, 1), k=dice.choice((1, 1, 2, 3)))
    return "; ".join(injury(path, dice) for injury in injuries)


def _pages(path: Path, dice: random.Random) -> tuple[bytearray, int, int, int]:
    data = bytearray(path.read_bytes())
    size = int.from_bytes(data[16:18], "big")
    one, other = (dice.randrange(1, len(data) // size) for _ in range(2))
    return data, size, one * size, other * size


def _swap(path: Path, dice: random.Random) -> str:
    data, size, one, other = _pages(path, dice)
    data[one : one + size], data[other : other + size] = data[other : other + size], data[one : one + size]
    path.write_bytes(data)
    return f"pages {one // size} and {other // size} swapped"


def _page(path: Path, dice: random.Random) -> str:
    data, size, one, _ = _pages(path, dice)
    at = one + dice.choice((0, dice.randrange(size)))
    length = dice.choice((1, 8, size - (at - one)))
    data[at : at + length] = dice.randbytes(length)
    path.write_bytes(data)
    return f"{length} bytes of noise in page {one // size}"


def _column(path: Path, dice: random.Random) -> str:
    return _changed(path, dice, lambda name: True, dice.choice(_ODD))


def _dangling(path: Path, dice: random.Random) -> str:
    return _changed(path, dice, lambda name: name in _POINTERS, dice.choice((-1, 999_999, None)))


def _changed(path: Path, dice: random.Random, wanted: Callable[[str], bool], odd: Any) -> str:
    # Where an earlier injury is in the way, that one has to do. Python itself stumbles over SQLite's own words then.
    with suppress(sqlite3.Error, ValueError), closing(sqlite3.connect(path, isolation_level=None)) as conn:
        tables = [name for (name,) in conn.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        own = [name for name in tables if not name.startswith(("sqlite_", "_sqlite", "texts"))]
        columns = {table: [row[1] for row in conn.execute(f"PRAGMA table_info({table})")] for table in own}
        table, column = dice.choice([(table, name) for table in own for name in columns[table] if wanted(name)])
        where = ""
        if "key" in columns[table] and dice.random() < 0.7:
            keys = [key for (key,) in conn.execute(f"SELECT key FROM {table}")]
            where = f" WHERE key = {dice.choice(keys)}" if keys else ""
        conn.execute(f"UPDATE {table} SET {column} = ?{where}", (odd,))
        conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return f"{table}.{column} = {odd!r}{where}"
    return "nothing"


def databases(folder: Path) -> Trial:
    """Tries databases."""
    path, file = whole(folder)
    good = path.read_bytes()
    with closing(sqlite3.connect(path)) as conn:
        ids = [id_ for (id_,) in conn.execute("SELECT id FROM sessions ORDER BY key")]

    def trial(dice: random.Random, place: Path) -> tuple[str, int, str, bytes]:
        here = place / "here.db"
        here.write_bytes(good)
        what = hurt(here, dice)
        damaged, command = here.read_bytes(), dice.choice(COMMANDS)
        words = {"ID": dice.choice(ids), "OUT": str(place / "out"), "FILE": str(file)}
        os.environ[DATABASE] = str(here)
        try:
            ended = ran([words.get(word, word) for word in command])
        finally:
            del os.environ[DATABASE]
        return f"{' '.join(command)} ({what})", ended.code, wrong(command, ended, changed=False), damaged

    return trial
