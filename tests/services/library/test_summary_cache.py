"""What is remembered of sessions is what was worked out, and reading it asks no process and reads no session."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from msgspec.structs import replace
from textual.message import Message

from ctxtui.services.child_process import ChildProcess
from ctxtui.services.config.config import load
from ctxtui.services.library.library import SessionLibrary
from ctxtui.services.library.totals.spending import TOOL
from ctxtui.services.library.totals.stats import SKILL, WAYS, make_stats
from ctxtui.services.library.totals.summary_cache import cached_by_key, from_cached_json, read_usages, to_json
from ctxtui.services.workers.summary_worker import make
from ctxtui.tui.home.loader import MAX_SINGLE_LOOKUPS, ReadingQueue, SessionFigures, post_figures
from ctxtui.views.model.session_summary import SAMPLES, SessionSummary
from tests.cases.claude_code import generate
from tests.cases.claude_code_requests import parallel
from tests.cli.conftest import Run, ctxtui, home

__all__ = ["ctxtui", "home"]


def folder(home: Path) -> Path:
    """Sessions of the user: one with a subagent's calls, one that grows, one that nobody reads."""
    found = home / ".claude" / "projects" / "-w"
    found.mkdir(parents=True)
    (found / "0a1b2c3d-0000-4000-8000-000000000000.jsonl").write_bytes(parallel().dump())
    (found / "0a1b2c3d-0000-4000-8000-000000000001.jsonl").write_bytes(generate(n_messages=40, seed=3))
    (found / "0a1b2c3d-0000-4000-8000-000000000002.jsonl").write_bytes(b"{broken\n")
    return found


def listed() -> list[SessionSummary]:
    """They and the samples, as Home lists them."""
    shelf = SessionLibrary(load(()).settings, Path.cwd())
    return shelf.join_stored(shelf.list_fast())


def test_all_that_was_worked_out_comes_back(home: Path) -> None:
    folder(home)
    settings = load(()).settings
    answer = make()
    figured = {one.key: answer((one, settings)) for one in listed()}
    assert any(one.tools and one.spent and one.growth for one in figured.values())
    found = cached_by_key(listed(), settings)
    assert found == figured
    for one in listed():
        assert from_cached_json(one, json.loads(json.dumps(to_json(figured[one.key])))) == figured[one.key]


def test_what_is_not_as_it_was_is_not_remembered(home: Path) -> None:
    place = folder(home)
    settings = load(()).settings
    answer = make()
    (first, *_) = own = [one for one in listed() if one.group != SAMPLES]
    for one in own:
        answer((one, settings))
    with (place / f"{first.id}.jsonl").open("ab") as file:
        file.write(b"\n")
    assert {one.id for one in cached_by_key(listed(), settings).values()} == {one.id for one in own[1:]}
    assert cached_by_key(listed(), dataclasses.replace(settings, usable_share=0.31)) == {}
    assert from_cached_json(first, {"calls": "many"}) is None


def test_home_asks_no_process_about_what_is_remembered(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = folder(home)
    for number in range(MAX_SINGLE_LOOKUPS):
        data = generate(n_messages=4, seed=9 + number)
        (place / f"0a1b2c3d-0000-4000-8000-0000000001{number:02}.jsonl").write_bytes(data)
    settings = load(()).settings
    answer = make()
    (changed, *_) = own = [one for one in listed() if one.group != SAMPLES]
    figured = {one.key: answer((one, settings)) for one in own}
    with Path(changed.path).open("ab") as file:
        file.write(b"\n")
    asked: list[str] = []

    def ask(child: ChildProcess, request: Any, **how: Any) -> SessionSummary:
        asked.append(request[0].key)
        return answer(request)

    monkeypatch.setattr(ChildProcess, "ask", ask)
    shelf = SessionLibrary(settings, Path.cwd())
    feed, posted = ReadingQueue(), list[Message]()
    feed.add(one for one in shelf.join_stored(shelf.list_fast()) if one.group != SAMPLES)
    feed.front = (own[3].key,)
    post_figures(shelf, feed, Event(), posted.append)
    found = [one for message in posted if isinstance(message, SessionFigures) for one in message.sessions]
    assert asked == [changed.key] and not feed.list_waiting()
    assert found[0].key == own[3].key, "what is on the screen comes first"
    assert {one.key: one for one in found if one.key != changed.key} == {
        key: one for key, one in figured.items() if key != changed.key
    }


def test_what_has_changed_meanwhile_is_still_to_be_read() -> None:
    feed = ReadingQueue()
    before = SessionSummary(key="/a", path="/a", size=1, mtime=1.0)
    feed.add([before, SessionSummary(key="/b", path="/b", size=1, mtime=1.0)])
    feed.add([replace(before, size=2)])
    feed.remove(before)
    assert [one.key for one in feed.list_waiting()] == ["/a", "/b"]
    feed.remove(replace(before, size=2))
    assert [one.key for one in feed.list_waiting()] == ["/b"]


def test_stats_over_remembered_sessions_start_no_process(
    ctxtui: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder(home)
    first = ctxtui("stats", "--by", "project", "--json").json

    def gone(*of: Any, **how: Any) -> Any:
        raise AssertionError("a process is asked")

    monkeypatch.setattr(ChildProcess, "ask", gone)
    again = ctxtui("stats", "--by", "project", "--json").json
    # The week ends now, which is later.
    assert {**first, "week": 0} == {**again, "week": 0} and again["total"]["calls"] > 20


def test_usage_is_remembered_until_more_is_known(home: Path) -> None:
    folder(home)
    settings = load(()).settings
    own = [one for one in listed() if one.group != SAMPLES]
    used = {one.key: one for one in read_usages(own, settings)}
    assert {one.usage_only for one in used.values() if not one.error} == {True}
    assert [bool(one.error) for one in used.values()].count(True) == 1
    assert cached_by_key(own, settings) == {}
    known = {key: one for key, one in used.items() if not one.error}
    assert cached_by_key(own, settings, usage=True) == known
    answer = make()
    figured = {one.key: answer((one, settings)) for one in own}
    list(read_usages(own, settings))
    assert cached_by_key(own, settings, usage=True) == figured, "what says more stays"


@pytest.mark.slow
def test_usage_alone_is_what_the_whole_says(home: Path) -> None:
    folder(home)
    settings = load(()).settings
    own = [one for one in listed() if one.path]
    answer = make()
    for by in WAYS:
        whole = make_stats([answer((one, settings)) for one in own], 1e9, by=by)
        least = make_stats(read_usages(own, settings), 1e9, by=by)
        assert (least.windows, least.week) == (whole.windows, whole.week)
        rows = [(least.total, whole.total)]
        if by not in (TOOL, SKILL):
            rows += zip(least.rows, whole.rows, strict=True)
        for one, other in rows:
            for name in ("name", "sessions", "calls", "input", "read", "output", "usd", "unpriced", "partial"):
                assert getattr(one, name) == getattr(other, name), (by, name)
            # One that cannot be read is no less known.
            assert 0 < one.uncounted <= one.sessions and not other.uncounted
