"""A database of many sessions: each is listed by its columns, named, and opened apart from the others."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ctxtui.core.call import paid_id
from ctxtui.core.errors import NotFound, Several
from ctxtui.services.config.settings import Settings
from ctxtui.services.library.library import SessionLibrary
from ctxtui.services.recordings.databases.address import address_of, file_of, split_address
from ctxtui.services.recordings.databases.sessions import find_session, list_sessions
from ctxtui.services.recordings.folder_scan import expand_names, find_in_folder
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
    newest, first, child = list_sessions(path)
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
    assert find_in_folder(path) == find_in_folder(path.parent) == [named.path, *named.others]
    listed = SessionLibrary(Settings(), path.parent).in_folder(path)
    assert [summary.path for summary in listed] == [str(named.path), *map(str, named.others)]
    assert expand_names([str(path)]) == [str(address_of(path, "ses_1")), str(address_of(path, "ses_9"))]


def test_a_name_that_fits_none_or_several_says_what_there_is(path: Path) -> None:
    with pytest.raises(NotFound, match=r"ses_9 .Another day., ses_1 .Fix."):
        locate(f"{path}#nothing", path.parent, Settings())
    with pytest.raises(Several, match="ses_9"):
        find_session(path, "ses_")


def test_a_session_of_a_database_is_a_source_of_its_own(path: Path) -> None:
    kept = source_info(load(address_of(path, "ses_1")))
    assert kept.path == f"{path}#ses_1" and kept.size == path.stat().st_size


def test_an_address_keeps_odd_ids_and_leaves_odd_file_names_alone(tmp_path: Path) -> None:
    made = database(tmp_path / "odd#name.db", two_unrelated())
    for id_ in ("a/b", "a#b", "ä %2F", "s e s"):
        assert split_address(address_of(made, id_)) == (made, id_)
    assert split_address(made) == (made, "") and file_of(address_of(made, "x")) == made
    assert split_address(tmp_path / "none.db#x") == (tmp_path / "none.db#x", "")


def test_conversations_of_llm_are_apart_and_a_fork_goes_with_what_it_goes_on_from(tmp_path: Path) -> None:
    tables = new_llm()
    tables["threads"].append({"id": "fork", "name": "Other way", "forked_from": "th"})
    turn = {**tables["turns"][0], "id": "u3", "thread_id": "fork", "datetime_utc": "2026-02-01T00:00:09"}
    tables["turns"].append(turn)
    path = database(tmp_path / "logs.db", tables)
    listed = {one.id: one for one in list_sessions(path)}
    assert listed["fork"].parent == "th" and listed["th"].messages == 2
    assert listed["c1"].title == "Sums" and listed["c1"].parent == ""
    session = load(path).session
    assert session.about.id == "th" and set(session.threads) == {"main", "fork"}
    assert session.threads["fork"].parent == "main"
    assert [set(load(address_of(path, id_)).session.threads) for id_ in ("c1", "c0")] == [{"main"}, {"main"}]


def test_older_llm_lists_its_conversations(tmp_path: Path) -> None:
    tables = old_llm()
    tables["responses"][2]["conversation_id"] = None
    found = list_sessions(database(tmp_path / "logs.db", tables))
    assert [(one.id, one.title, one.messages) for one in found] == [("c1", "Sums", 2), ("r0", "", 1), ("c0", "Old", 0)]


def test_a_ring_of_parents_ends(tmp_path: Path) -> None:
    tables = two_unrelated()
    tables["session"][0]["parent_id"] = "ses_2"
    path = database(tmp_path / "opencode.db", tables)
    assert sum(not one.parent for one in list_sessions(path)) >= 2
    assert load(address_of(path, "ses_1")).session.calls


def test_reading_a_database_with_a_log_leaves_nothing_beside_it(path: Path) -> None:
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
    assert list_sessions(path) and load(path).session.calls is not None
    assert [one.name for one in path.parent.iterdir()] == ["opencode.db"]


def test_what_a_running_client_has_written_to_its_log_is_read(path: Path) -> None:
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        with writer:
            writer.execute("UPDATE session SET title = 'In the log' WHERE id = 'ses_9'")
        assert list_sessions(path)[0].title == "In the log"


def test_a_database_that_lacks_columns_is_listed_all_the_same(tmp_path: Path) -> None:
    tables: dict[str, list[dict[str, Any]]] = {"session": [{"id": "a"}], "message": [{"x": 1}], "part": [{"x": 1}]}
    assert [one.id for one in list_sessions(database(tmp_path / "o.db", tables))][:1] in (["a"], [""])
    assert list_sessions(database(tmp_path / "other.db", {"session": [{"x": 1}]})) == []


def test_a_fork_of_opencode_has_the_paid_ids_of_its_origin_and_its_own(tmp_path: Path) -> None:
    def talk(session: str, *extra: int) -> None:
        for number in (1, 2, *extra):
            tokens = {"input": 100 * number, "output": 5, "reasoning": 0, "cache": {"read": 10, "write": 0}}
            time = {"created": 1_000 * number, "completed": 1_000 * number + 900}
            said = {"modelID": "claude-sonnet-4-6", "providerID": "anthropic", "tokens": tokens, "finish": "stop"}
            for role, data in (("user", {"time": time}), ("assistant", {**said, "time": time})):
                id_ = f"msg_{session}_{number}_{role}"
                row = {"id": id_, "session_id": session, "time_created": 1_000 * number}
                tables["message"].append({**row, "data": {"role": role, **data}})
                part = {"id": f"prt_{id_}", "message_id": id_, "session_id": session, "time_created": 1_000 * number}
                tables["part"].append({**part, "data": {"type": "text", "text": f"{role} {number}"}})

    tables: dict[str, list[dict[str, Any]]] = {"session": [], "message": [], "part": []}
    for session, extra in (("ses_p", ()), ("ses_f", (3,)), ("ses_g", (4,))):
        tables["session"].append({"id": session, "parent_id": None, "directory": "/w", "title": session})
        talk(session, *extra)
    path = database(tmp_path / "opencode.db", tables)
    paid = {
        session: [paid_id(call) for call in load(address_of(path, session)).session.calls.values()]
        for session in ("ses_p", "ses_f", "ses_g")
    }
    assert paid["ses_p"] == paid["ses_f"][:2] == paid["ses_g"][:2]
    assert len(set().union(*paid.values())) == 4


# OpenCode 2


def version_2(*, fork: bool = True) -> dict[str, list[dict[str, Any]]]:
    """The tables of OpenCode 2 with a session and its fork, which has the same messages under ids of its own."""
    made: dict[str, list[dict[str, Any]]] = {"session_v2": [], "session_message": []}
    for name in ("p", "f") if fork else ("p",):
        session = f"ses_{name}"
        made["session_v2"].append(
            {"id": session, "parent_id": None, "fork_session_id": None if name == "p" else "ses_p", "directory": "/w",
             "title": f"Talk {name}", "version": "2.0.12", "time_created": 1_000, "time_updated": 9_000}
        )  # fmt: skip
        state = {"status": "completed", "input": {"path": "/a"}, "content": [{"type": "text", "text": "file a"}]}
        tool = {"type": "tool", "id": "t1", "name": "read", "state": state}
        tokens = {"input": 100, "output": 5, "reasoning": 2, "cache": {"read": 10, "write": 0}}
        model = {"id": "claude-sonnet-4-5", "providerID": "anthropic"}
        said = {"model": model, "tokens": tokens, "cost": 0.01, "finish": "stop"}
        thought = {"type": "reasoning", "text": "hm"}
        rows = [
            ("user", {"time": {"created": 1_000}, "text": "Fix it", "files": []}),
            ("model-switched", {"time": {"created": 1_001}, "model": model}),
            ("assistant", {**said, "time": {"created": 1_010, "completed": 1_900}, "content": [thought, tool]}),
            ("assistant", {**said, "time": {"created": 2_010}, "content": [{"type": "text", "text": "Done"}]}),
            ("compaction", {"time": {"created": 3_000}, "summary": "It was fixed."}),
            ("user", {"time": {"created": 4_000}, "text": "Thanks"}),
        ]
        for number, (kind, data) in enumerate(rows):
            id_ = f"msg_{name}{number}"
            row = {"id": id_, "session_id": session, "type": kind, "seq": number, "time_created": 1_000 + number}
            made["session_message"].append({**row, "data": data})
    return made


def test_opencode_2_keeps_its_sessions_in_other_tables(tmp_path: Path) -> None:
    path = database(tmp_path / "opencode.db", version_2())
    assert {(one.id, one.title, one.cwd, one.messages) for one in list_sessions(path)} == {
        ("ses_p", "Talk p", "/w", 6),
        ("ses_f", "Talk f", "/w", 6),
    }
    assert len(expand_names([str(path)], None)) == 2
    session = load(address_of(path, "ses_p")).session
    first, second, summary = calls(session)
    assert first.usage and (first.usage.input, first.usage.output, first.usage.cost) == (110, 7, 0.01)
    assert (first.model, first.provider, summary.usage) == ("claude-sonnet-4-5", "anthropic", None)
    kinds = [item.block.kind for item in session.tree.items(second.raw_head)]
    assert kinds == ["header", "text", "header", "thinking", "tool_use", "header", "tool_result"]
    assert [item.block.kind for item in session.tree.items(session.threads["main"].tip)] == ["header", "text"] * 2
    assert not session.skipped


def test_a_fork_of_opencode_2_has_the_paid_ids_of_its_origin(tmp_path: Path) -> None:
    path = database(tmp_path / "opencode.db", version_2())
    one, other = (load(address_of(path, name)).session.calls.values() for name in ("ses_p", "ses_f"))
    assert [paid_id(call) for call in one] == [paid_id(call) for call in other]
    assert not {call.id for call in one} & {call.id for call in other}


def test_a_database_with_the_tables_of_both_versions_has_the_sessions_of_both(tmp_path: Path) -> None:
    path = database(tmp_path / "opencode.db", two_unrelated() | version_2(fork=False))
    assert {one.id for one in list_sessions(path)} == {"ses_9", "ses_1", "ses_2", "ses_p"}
    assert len(calls(load(address_of(path, "ses_p")).session)) == 3
    assert len(calls(load(address_of(path, "ses_1")).session)) == 4


def test_a_database_whose_name_is_no_text_is_listed_and_read(tmp_path: Path) -> None:
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff?#%.db"))
    database(odd, two_unrelated())
    assert list_sessions(odd)[0].id == "ses_9"
    assert load(odd).session.about.id == "ses_9"
