"""A session in a database is followed: what its client writes appears, what it writes elsewhere does not matter."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ctxtui.core.errors import CtxtuiError
from ctxtui.services.recordings import recording
from ctxtui.services.recordings.databases.address import address_of
from ctxtui.services.recordings.open import load
from ctxtui.services.recordings.recording import Loaded
from tests.services.recordings.test_database import database, opencode


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return database(tmp_path / "opencode.db", opencode())


def say(path: Path, n: int, text: str, session: str = "ses_1") -> None:
    """Another answer of `session`, as OpenCode writes it."""
    data = {
        "role": "assistant",
        "time": {"created": n, "completed": n + 1},
        "modelID": "m-1",
        "providerID": "anthropic",
    }
    with closing(sqlite3.connect(path)) as made, made:
        message = (f"msg_{n}", session, n, json.dumps(data))
        made.execute("INSERT INTO message (id, session_id, time_created, data) VALUES (?, ?, ?, ?)", message)
        part = (f"prt_{n}", f"msg_{n}", session, n, json.dumps({"type": "text", "text": text}))
        made.execute("INSERT INTO part (id, message_id, session_id, time_created, data) VALUES (?, ?, ?, ?, ?)", part)


def same(loaded: Loaded, path: Path) -> bool:
    fresh = load(path).session
    return (loaded.session.calls, loaded.session.threads) == (fresh.calls, fresh.threads)


def test_what_the_client_writes_is_there_at_the_next_look(path: Path) -> None:
    loaded = load(path)
    assert loaded.follows and not loaded.fetch()
    before = len(loaded.session.calls)
    say(path, 20, "one more")
    news = loaded.fetch()
    assert len(loaded.session.calls) == before, "nothing changes before it is taken"
    loaded.add_news(news)
    assert len(loaded.session.calls) == before + 1 and same(loaded, path)
    assert not loaded.fetch()


def test_a_log_of_writes_is_looked_at_too(path: Path) -> None:
    with closing(sqlite3.connect(path)) as client:
        client.execute("PRAGMA journal_mode=WAL")
        client.execute("PRAGMA wal_autocheckpoint=0")
        loaded = load(path)
        before = len(loaded.session.calls)
        say(path, 20, "one more")
        assert len(loaded.more()) > 0
        assert len(loaded.session.calls) == before + 1


def test_other_sessions_of_the_database_are_no_news(path: Path) -> None:
    with closing(sqlite3.connect(path)) as made, made:
        made.execute("INSERT INTO session (id, title) VALUES ('ses_9', 'another')")
    loaded = load(address_of(path, "ses_1"))
    say(path, 20, "elsewhere", "ses_9")
    assert not loaded.fetch()
    say(path, 21, "here")
    assert loaded.fetch()


def test_the_newest_session_stays_the_one_that_was_opened(path: Path) -> None:
    loaded = load(path)
    say(path, 20, "a new one", "ses_new")
    assert not loaded.fetch()
    assert loaded.session.about.title == "Fix"


def test_while_it_cannot_be_read_or_is_gone_what_is_shown_stays(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = load(path)
    calls = dict(loaded.session.calls)
    say(path, 20, "one more")
    assert loaded._anew is not None
    read, refused = loaded._anew.begin, [True]

    def locked() -> Any:
        if refused:
            raise CtxtuiError("locked")
        return read()

    monkeypatch.setattr(recording, "_CHECK_ALL_SECONDS", 0.0)
    loaded._anew.begin = locked
    assert not loaded.fetch() and loaded.session.calls == calls
    refused.clear()
    kept = path.read_bytes()
    path.unlink()
    assert not loaded.fetch() and loaded.gone
    path.write_bytes(kept)
    assert loaded.fetch() and not loaded.gone


def test_reading_a_large_one_again_and_again_leaves_time_for_others(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock: Iterator[float] = iter([0.0, 2.0, 3.0, 4.0, 13.0, 13.5])
    monkeypatch.setattr(recording, "_PAUSE_FACTOR", 5.0)
    loaded = load(path)
    monkeypatch.setattr(recording.time, "monotonic", lambda: next(clock))
    say(path, 20, "one")
    assert loaded.more(), "reading took 2 seconds"
    say(path, 21, "two")
    assert not loaded.fetch() and not loaded.fetch(), "3 and 4 seconds: not yet"
    assert loaded.fetch(), "13 seconds"
