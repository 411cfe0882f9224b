"""A database of many sessions: each is listed by its columns, named, and opened apart from the others."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ctxtui.core.errors import NotFound, Several
from ctxtui.services.config.settings import Settings
from ctxtui.services.recordings.databases.address import address_of, file_of, parted
from ctxtui.services.recordings.databases.sessions import found_in, sessions_in
from ctxtui.services.recordings.folder_scan import expanded, recordings_in
from ctxtui.services.recordings.identity import source_info
from ctxtui.services.recordings.open import load
from ctxtui.services.recordings.open_by_name import locate
from tests.services.recordings.test_database import database, new_llm, old_llm, opencode
from tests.transcripts.reading import calls


def two_unrelated() -> dict[str, list[dict[str, Any]]]:
    """OpenCode's database with a session and its child, and a newer one that nothing joins to them."""
    tables = opencode()
    tables["session"].append({"id": "ses_9", "directory": "/other", "title": "Another day", "time_updated": 2_000_000})
    said = {"role": "user", "time": {"created": 1_000_000}}
    tables["message"].append({"id": "msg_90", "session_id": "ses_9", "time_created": 1_000_000, "data": said})
    text = {"type": "text", "text": "Something else"}
    tables["part"].append({"id": "prt_90", "message_id": "msg_90", "session_id": "ses_9", "data": text})
    return tables


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return database(tmp_path / "opencode.db", two_unrelated())


def test_each_session_is_listed_by_its_columns(path: Path) -> None:
    newest, first, child = sessions_in(path)
    assert (newest.id, newest.title, newest.cwd, newest.messages) == ("ses_9", "Another day", "/other", 1)
    assert (first.id, first.parent, first.version, first.messages) == ("ses_1", "", "1", 4)
    assert (child.id, child.parent, child.source) == ("ses_2", "ses_1", "opencode")
    # A session is as new as the newest that it began: 99 of ses_2, not its own 9.
    assert first.updated == 99.0


def test_unrelated_sessions_are_apart_and_a_child_goes_with_its_parent(path: Path) -> None:
    newest, first = load(path).session, load(address_of(path, "ses_1")).session
    assert newest.about.id == "ses_9" and set(newest.threads) == {"main"}
    assert first.about.id == "ses_1" and set(first.threads) == {"main", "ses_2"}
    assert first.threads["ses_2"].parent == "main" and len(calls(first)) == 4
    assert load(address_of(path, "ses_2")).session.about.id == "ses_2"


@pytest.mark.parametrize("wanted", ["ses_1", "Fix", "fix", "Fi"])
def test_a_session_is_named_by_id_or_title(path: Path, wanted: str) -> None:
    assert locate(f"{path}#{wanted}", path.parent, Settings()).path == address_of(path, "ses_1")


def test_a_database_without_a_choice_is_its_newest_session_with_the_others_behind_it(path: Path) -> None:
    named = locate(str(path), path.parent, Settings())
    assert (named.path, named.others) == (address_of(path, "ses_9"), (address_of(path, "ses_1"),))
    assert recordings_in(path) == recordings_in(path.parent) == [named.path, *named.others]
    assert expanded([str(path)]) == [str(address_of(path, "ses_1")), str(address_of(path, "ses_9"))]


def test_a_name_that_fits_none_or_several_says_what_there_is(path: Path) -> None:
    with pytest.raises(NotFound, match=r"ses_9 .Another day., ses_1 .Fix."):
        locate(f"{path}#nothing", path.parent, Settings())
    with pytest.raises(Several, match="ses_9"):
        found_in(path, "ses_")


def test_a_session_of_a_database_is_a_source_of_its_own(path: Path) -> None:
    kept = source_info(load(address_of(path, "ses_1")))
    assert kept.path == f"{path}#ses_1" and kept.size == path.stat().st_size


def test_an_address_keeps_odd_ids_and_leaves_odd_file_names_alone(tmp_path: Path) -> None:
    made = database(tmp_path / "odd#name.db", two_unrelated())
    for id_ in ("a/b", "a#b", "ä %2F", "s e s"):
        assert parted(address_of(made, id_)) == (made, id_)
    assert parted(made) == (made, "") and file_of(address_of(made, "x")) == made
    assert parted(tmp_path / "none.db#x") == (tmp_path / "none.db#x", "")


def test_conversations_of_llm_are_apart_and_a_fork_goes_with_what_it_goes_on_from(tmp_path: Path) -> None:
    tables = new_llm()
    tables["threads"].append({"id": "fork", "name": "Other way", "forked_from": "th"})
    turn = {**tables["turns"][0], "id": "u3", "thread_id": "fork", "datetime_utc": "2026-02-01T00:00:09"}
    tables["turns"].append(turn)
    path = database(tmp_path / "logs.db", tables)
    listed = {one.id: one for one in sessions_in(path)}
    assert listed["fork"].parent == "th" and listed["th"].messages == 2 and listed["th"].model == "m-1"
    assert listed["c1"].title == "Sums" and listed["c1"].parent == ""
    session = load(path).session
    assert session.about.id == "th" and set(session.threads) == {"main", "fork"}
    assert session.threads["fork"].parent == "main"
    assert [set(load(address_of(path, id_)).session.threads) for id_ in ("c1", "c0")] == [{"main"}, {"main"}]


def test_older_llm_lists_its_conversations(tmp_path: Path) -> None:
    tables = old_llm()
    tables["responses"][2]["conversation_id"] = None
    found = sessions_in(database(tmp_path / "logs.db", tables))
    assert [(one.id, one.title, one.messages) for one in found] == [("c1", "Sums", 2), ("r0", "", 1), ("c0", "Old", 0)]


def test_a_ring_of_parents_ends(tmp_path: Path) -> None:
    tables = two_unrelated()
    tables["session"][0]["parent_id"] = "ses_2"
    path = database(tmp_path / "opencode.db", tables)
    assert sum(not one.parent for one in sessions_in(path)) >= 2
    assert load(address_of(path, "ses_1")).session.calls


def test_reading_a_database_with_a_log_leaves_nothing_beside_it(path: Path) -> None:
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
    assert sessions_in(path) and load(path).session.calls is not None
    assert [one.name for one in path.parent.iterdir()] == ["opencode.db"]


def test_what_a_running_client_has_written_to_its_log_is_read(path: Path) -> None:
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        with writer:
            writer.execute("UPDATE session SET title = 'In the log' WHERE id = 'ses_9'")
        assert sessions_in(path)[0].title == "In the log"


def test_a_database_that_lacks_columns_is_listed_all_the_same(tmp_path: Path) -> None:
    tables: dict[str, list[dict[str, Any]]] = {"session": [{"id": "a"}], "message": [{"x": 1}], "part": [{"x": 1}]}
    assert [one.id for one in sessions_in(database(tmp_path / "o.db", tables))][:1] in (["a"], [""])
    assert sessions_in(database(tmp_path / "other.db", {"session": [{"x": 1}]})) == []
