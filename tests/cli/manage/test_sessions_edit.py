"""`ctxtui session rename | tag | archive | delete`."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxtui.cli.run import run
from ctxtui.store.store import Store
from tests.cases import claude_code
from tests.cli.manage.test_db import answer, filled, home

__all__ = ["filled", "home"]


def test_rename_and_back(filled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(capsys, "rename", "session-1", "a [red]title\x1b") == {
        "schema_version": 1,
        "id": "session-1",
        "title": "a [red]title\x1b",
    }
    assert run(["rename", "session-1", "again\x1b[31m"]) == 0
    assert capsys.readouterr().out == "session-1  again\\x1b[31m\n"
    assert answer(capsys, "rename", "session-1", "")["title"] == "work on session-1"


def test_tags(filled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(capsys, "tag", "session-2", "good", "demo")["tags"] == ["demo", "good"]
    assert answer(capsys, "tag", "session-2", "good", "--remove")["tags"] == ["demo"]
    assert run(["tag", "session-2", "demo", "--remove"]) == 0
    assert capsys.readouterr().out == "session-2  no tags\n"
    assert run(["tag", "session-2"]) == 2


def test_subscription_and_undo(filled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(capsys, "subscription", "session-1") == {
        "schema_version": 1,
        "id": "session-1",
        "subscription": True,
    }
    with Store.open(filled) as store:
        assert store.session("session-1").subscription and not store.session("session-2").subscription
    assert answer(capsys, "subscription", "session-1", "--undo")["subscription"] is False
    with Store.open(filled) as store:
        assert not store.session("session-1").subscription


def test_archive_and_undo(filled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(capsys, "archive", "session-1")["archived"] is True
    with Store.open(filled) as store:
        assert [row.id for row in store.sessions()] == ["session-2"]
    assert answer(capsys, "archive", "session-1", "--undo")["archived"] is False


def test_delete_needs_a_yes_where_nobody_can_be_asked(filled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(capsys, "delete", "session-1", code=7)["error"]["way_out"] == "add --yes"
    assert answer(capsys, "delete", "session-1", "--yes") == {
        "schema_version": 1,
        "id": "session-1",
        "deleted": True,
    }
    assert answer(capsys, "delete", "session-1", "--yes", code=5)["error"]["kind"] == "not found"


def test_an_ambiguous_beginning_lists_the_candidates(filled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["rename", "session", "x"], ["delete", "session", "--yes"], ["archive", "session"]):
        message = answer(capsys, *command, code=6)["error"]["message"]
        assert "session-1" in message
        assert "session-2" in message


def test_the_first_change_imports(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.jsonl").write_bytes(claude_code.generate(20))
    changed = answer(capsys, "tag", "./a.jsonl", "mine")
    with Store.open(home / "ctxtui.db") as store:
        (row,) = store.sessions()
    assert (row.id, row.tags, row.path) == (changed["id"], ("mine",), str(tmp_path / "a.jsonl"))
    assert answer(capsys, "rename", changed["id"][:8], "my title")["id"] == changed["id"]


def test_what_is_not_there_makes_no_database(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["rename", "nothing", "x"], ["tag", "nothing", "x"], ["archive", "nothing"], ["delete", "nothing"]):
        assert answer(capsys, *command, code=5)["error"]["kind"] == "not found"
    assert not (home / "ctxtui.db").exists()


def test_an_empty_tag_is_refused_before_anything_is_imported(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.jsonl").write_bytes(claude_code.generate(20))
    assert answer(capsys, "tag", "./a.jsonl", "good", " ", code=7)["error"]["message"] == "a tag may not be empty"
    assert not (home / "ctxtui.db").exists()
