"""A chat that is open: what would take it away from its host is refused, with the process that has it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ctxtui.core.session import Described
from ctxtui.services.config.package_data import sample_paths
from ctxtui.services.config.paths import database
from ctxtui.store import leases
from ctxtui.store.host_process import begin_hosting, end_hosting
from ctxtui.store.rows import SourceInfo
from ctxtui.store.store import Store
from tests.cases.sessions import Story
from tests.cli.conftest import Run


@pytest.fixture
def chat(home: Path) -> Iterator[str]:
    """The id of a stored chat that this process hosts."""
    session = Story().user("hello").call("hi").session
    session.fold([Described(id="chat-1", title="t", source="ctxtui", client="ctxtui chat")])
    path = database()
    with Store.open(path) as store:
        store.import_session(session, SourceInfo(format="ctxtui"))
    host = begin_hosting(1_000_000.0)
    leases.claim(path, "chat-1", host)
    yield "chat-1"
    end_hosting(host)


def test_an_open_chat_is_neither_deleted_nor_pruned_nor_compacted(ctxtui: Run, chat: str) -> None:
    where = f"{chat} is open in this program, process {os.getpid()} since 1970-01-1"
    for command in (("delete", chat, "--yes"), ("db", "vacuum")):
        ran = ctxtui(*command)
        assert ran.code == 7 and where in ran.err and "end it there first" in ran.err
    ran = ctxtui("db", "prune", "--older-than", "1d", "--json")
    assert ran.code == 7 and where in ran.err
    assert ran.json["pruned"] == [] and [one["id"] for one in ran.json["in_use"]] == [chat]
    assert ran.json["in_use"][0] == {"id": chat, "pid": os.getpid(), "since": 1_000_000.0}
    assert ctxtui("show", chat).code == 0 and ctxtui("session", "rename", chat, "mine").code == 0


def test_whoever_wants_to_go_on_without_a_screen_is_told_too(ctxtui: Run, chat: str) -> None:
    asked = ("chat", "--provider", "offline", "--json", "--continue")
    ran = ctxtui(*asked, chat)
    assert ran.json["open_in"] == {"session": chat, "pid": os.getpid(), "since": 1_000_000.0}
    assert f"`ctxtui chat --continue {chat}@N` makes a branch after call N" in ran.err
    assert ctxtui(*asked, f"{chat}@1").json["open_in"] is None


@pytest.mark.parametrize("name", ["nope", "nope@3", "./nope.jsonl", "chat-1@99", f"chat-1@{'9' * 5000}"])
def test_what_cannot_be_continued_is_an_error_without_a_screen_too(ctxtui: Run, chat: str, name: str) -> None:
    assert ctxtui("chat", "--provider", "offline", "--json", "--continue", name).code == 5


def test_continue_without_a_name_takes_the_newest_session_of_this_directory(ctxtui: Run, home: Path) -> None:
    asked = ("chat", "--continue", "--provider", "offline", "--json")
    none = ctxtui(*asked)
    assert none.code == 5 and "no session of this directory" in none.err
    session = Story().user("hello").call("hi").session
    session.fold([Described(id="here", source="ctxtui", client="ctxtui chat", cwd=str(Path.cwd()))])
    with Store.open(database()) as store:
        store.import_session(session, SourceInfo(format="ctxtui"))
    host = begin_hosting(1_000_000.0)
    leases.claim(database(), "here", host)
    assert ctxtui(*asked).json["open_in"]["session"] == "here"
    end_hosting(host)


def test_json_prints_the_model_of_the_session_that_continues(ctxtui: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a")
    asked = ("chat", "--json", "--continue", str(sample_paths()[0]))
    assert ctxtui(*asked).json["model"] == "claude-sonnet-4-5-20250929"
    assert ctxtui(*asked, "--model", "claude-opus-5-5").json["model"] == "claude-opus-5-5"
