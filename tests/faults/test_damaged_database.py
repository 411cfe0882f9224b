"""A damaged database that SQLite takes: every command says so, with the place and the way out, and none crashes."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.faults.damaged_database import databases, whole
from tests.faults.fuzzing import alone, ran
from tests.sampling import few

RUNS = 120


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in alone(tmp_path).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("seed", few(range(12)))
def test_no_damage_crashes_a_command(seed: int, home: Path) -> None:
    trial, found = databases(home), []
    codes = set()
    for number in range(RUNS):
        place = home / f"{number}"
        place.mkdir()
        what, code, trouble, _ = trial(random.Random(f"{seed} {number}"), place)
        codes.add(code)
        found += [f"{what}: {trouble}"] if trouble else []
    assert not found, "\n".join(found)[-3000:]
    assert codes >= {0, 4}


@pytest.mark.parametrize(
    ("harm", "command"),
    [
        ("UPDATE calls SET ended = x'ff'", "cost"),
        ("UPDATE calls SET output = NULL", "why"),
        ("UPDATE calls SET raw_at = -3", "show"),
        ("UPDATE calls SET own_thread = 'nobody'", "audit"),
        ("UPDATE calls SET started = 1e300", "show"),
        ("UPDATE runs SET parent = -1, offset = 1", "growth"),
        ("UPDATE blocks SET kind = 'tool_use'", "show"),
        ("UPDATE blocks SET body = substr(body, 2)", "show"),
        ("UPDATE sessions SET title = x'fffe'", "why"),
        ("UPDATE codecs SET dictionary = zeroblob(10) WHERE key != 0", "cost"),
        ("UPDATE blocks SET digest = '[' || key || ']'", "show"),
        ("UPDATE sessions SET id = x'fffe' || key", "db prune --older-than 0s --dry-run --json"),
    ],
)
def test_what_a_row_cannot_be_is_said_with_place_and_way_out(harm: str, command: str, home: Path) -> None:
    path, _ = whole(home)
    with closing(sqlite3.connect(path, isolation_level=None)) as conn:
        ids = [id_ for (id_,) in conn.execute("SELECT id FROM sessions ORDER BY key")]
        conn.execute(harm)
    ended = ran(command.split() if " " in command else [command, ids[0]])
    assert ended.code == 4 and "damaged" in ended.err and str(path) in ended.err, (harm, ended.code, ended.err)
    assert "restore a backup" in ended.err


@pytest.mark.parametrize("odd", [2**62, -(2**62), 2**31])
def test_a_number_that_only_orders_may_be_of_any_size(odd: int, home: Path) -> None:
    path, _ = whole(home)
    with closing(sqlite3.connect(path, isolation_level=None)) as conn:
        ids = [id_ for (id_,) in conn.execute("SELECT id FROM sessions ORDER BY key")]
        conn.execute("UPDATE calls SET epoch = ? WHERE number = 2", (odd,))
    for command in ("growth", "cost", "show"):
        assert ran([command, ids[0], "--json"]).code == 0, command
