"""Which sessions there are and what they come to: Home, `sessions`, `stats` and `cost --all` say the same, before and
after ctxtui wrote sessions to be resumed."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ctxtui.core.session import Described
from ctxtui.services.config.config import load
from ctxtui.services.config.paths import database
from ctxtui.services.library import library
from ctxtui.services.workers.summary_worker import make
from ctxtui.store.rows import SourceInfo
from ctxtui.store.store import Store
from ctxtui.tui.home.screen import HomeScreen
from ctxtui.tui.start import make_app
from ctxtui.views.home.columns import least_cost
from ctxtui.views.home.totals import header
from ctxtui.views.model.call_owners import is_own_session
from ctxtui.views.text.span import plain
from tests.cases import client_homes
from tests.cases.sessions import Story, use
from tests.cli.conftest import Run, ctxtui, home
from tests.services.lookalike import ClaudeCode, lines, subagent

__all__ = ["ctxtui", "home"]

FIGURES = ("calls", "turns", "total_tokens")


@dataclass
class Said:
    """What a place says: the sums over all sessions, and by key what each comes to."""

    sessions: int
    calls: int
    tokens: int
    usd: float
    rows: dict[str, tuple[float, ...]]

    @property
    def sums(self) -> tuple[object, ...]:
        return self.sessions, self.calls, self.tokens, pytest.approx(self.usd)


def by_commands(ctxtui: Run) -> Said:
    """What the three commands say, which must be the same."""
    listed = [
        one
        for archived in ((), ("--archived",))
        for one in ctxtui("sessions", "--figures", "--json", *archived).json["sessions"]
        if one["group"] != "samples"
    ]
    rows = {one["path"] or one["stored"]: (*(one.get(name, 0) for name in FIGURES), usd_of(one)) for one in listed}
    cost, stats = ctxtui("cost", "--all", "--json").json, ctxtui("stats", "--json").json["total"]
    totals = cost["totals"]
    assert (cost["sessions"], stats["sessions"]) == (len(listed), len(listed))
    assert (stats["calls"], stats["input"] + stats["output"]) == (cost["calls"], cost["tokens"])
    assert (totals["calls"], totals["tokens"]) == (cost["calls"], cost["tokens"])
    assert (stats["unpriced"], stats["partial"]) == (cost["unpriced_calls"], cost["partial_calls"])
    usd = totals["cost_usd_at_least"]
    assert stats.get("usd_at_least", stats["usd"]) == pytest.approx(usd)
    return Said(len(listed), cost["calls"], cost["tokens"], usd, rows)


def usd_of(one: dict[str, Any]) -> float:
    return round(one.get("totals", {}).get("cost_usd_at_least") or 0.0, 9)


def made_by_ctxtui(ctxtui: Run) -> set[str]:
    """The sessions that ctxtui wrote, as far as they are remembered: nothing is read for it."""
    return {one["path"] for one in ctxtui("sessions", "--json").json["sessions"] if one.get("made_by_ctxtui")}


async def by_home() -> Said:
    """What Home says, once it has read everything."""
    app = make_app(None, load(()))
    async with app.run_test(size=(200, 60)) as pilot:
        screen = app.screen
        assert isinstance(screen, HomeScreen)
        until = time.monotonic() + 60
        found = screen.collection
        while not (found.sessions and all(one.known for one in found.sessions.values())):
            assert time.monotonic() < until, found.progress()
            await pilot.pause(0.02)
        total = found.totals()
        own = {key: one for key, one in found.sessions.items() if is_own_session(one)}
        rows = {
            key: (one.calls, one.turns, one.total_tokens, round(least_cost(one) or 0.0, 9)) for key, one in own.items()
        }
        assert f"{len(own)} sessions" in plain(header(200, "", total))
    return Said(total.sessions, total.calls, total.tokens, total.cost, rows)


async def agreed(ctxtui: Run) -> Said:
    """What all of them say."""
    said, shown = by_commands(ctxtui), await by_home()
    assert shown.rows == said.rows
    assert shown.sums == said.sums
    return said


def grown(home: Path) -> Path:
    """A home with a session of every client, one with subagents and its fork, a chat, one that cannot be read and one
    that is archived; gives the session with subagents."""
    own = home.parent / "ctxtui"
    client_homes.home_of_all(home, home.parent / "desk", own)
    projects = home / ".claude/projects/-tmp-project"
    projects.mkdir(parents=True)
    client = ClaudeCode()
    path = projects / f"{client.session}.jsonl"
    path.write_bytes(lines(client.turns(3)))
    below = projects / client.session / "subagents"
    below.mkdir(parents=True)
    (below / "agent-abc123.jsonl").write_bytes(subagent(client))
    # A fork that the client made: the first turns again, then others.
    fork = "00000000-9999-4222-8333-444444444444"
    told = path.read_bytes().replace(client.session.encode(), fork.encode()).splitlines(keepends=True)
    (projects / f"{fork}.jsonl").write_bytes(b"".join(told[: len(told) // 2]) + added(told[-1], "own"))
    (projects / "bad.jsonl").write_bytes(b"\x7fELF\0\0")
    story = Story().user("go").call(use("1", "read_file")).results(("1", "found")).call("done").user("on").call("yes")
    story.session.fold([Described(id="chat-1", source="ctxtui", client="ctxtui chat")])
    with Store.open(database()) as store:
        store.import_session(story.session, SourceInfo(format="ctxtui"))
        other = Story().user("old").call("kept")
        other.session.fold([Described(id="chat-2", source="ctxtui", client="ctxtui chat")])
        store.import_session(other.session, SourceInfo(format="ctxtui"))
        store.archive("chat-2")
    return path


def added(line: bytes, name: str) -> bytes:
    """An answer like that in `line`, of another call."""
    record = json.loads(line)
    assert record["type"] == "assistant"
    record.pop("copiedBy", None)
    record |= {"uuid": f"u-{name}", "parentUuid": record["uuid"], "requestId": f"req-{name}"}
    record["message"] |= {"id": f"msg-{name}"}
    return json.dumps(record, separators=(",", ":")).encode() + b"\n"


async def test_home_and_every_command_say_the_same_before_and_after_an_export(
    ctxtui: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Samples are in no sum, and take the most time to be read.
    monkeypatch.setattr(library, "sample_paths", tuple)
    path = grown(home)
    # Read in this process: another one would load the vocabularies anew.
    answer, settings = make(), load(()).settings
    for one in library.SessionLibrary(settings, Path.cwd()).all_sessions():
        answer((one, settings))
    before = await agreed(ctxtui)
    assert before.rows["chat-1"][:2] == (3, 2), "an own chat has its turns"
    assert sum(row[0] for row in before.rows.values()) > before.calls, "a fork has calls that count once"

    made = ctxtui("curate", path, "--call", "4", "--policy", "strip_thinking", "--to", "claude-code", "-o", path.parent)
    assert made.code == 0, made.err
    (export,) = (one for one in path.parent.glob("*.jsonl") if str(one) not in before.rows)
    (codex,) = home.glob(".codex/sessions/**/*.jsonl")
    pi = next(home.glob(".pi/agent/sessions/*/*.jsonl"))
    for form, source, folder in (("codex", codex, codex.parent), ("codex", path, codex.parent), ("pi", pi, pi.parent)):
        assert ctxtui("curate", source, "--to", form, "-o", folder).code == 0
    after = await agreed(ctxtui)
    assert (after.calls, after.tokens, after.usd) == (before.calls, before.tokens, pytest.approx(before.usd))
    assert after.sessions == before.sessions + 4
    new = {key: row for key, row in after.rows.items() if key not in before.rows}
    assert set(new.values()) == {(0, 0, 0, 0.0)}
    assert made_by_ctxtui(ctxtui) == set(new)
    assert "made by ctxtui: " in ctxtui("sessions").out
    # Alone it tells what the calls were, and that they are copies.
    alone = ctxtui("cost", export, "--json").json
    assert alone["copied_calls"] == alone["calls"] == ctxtui("show", export, "--json").json["session"]["calls"] > 0
    assert "from another session" in ctxtui("cost", export).out
    assert "from another session" in ctxtui("show", export).out
    assert f"{alone['calls']} copied by ctxtui" in ctxtui("cost", "--why", export).out
    both = ctxtui("cost", export, path, "--json").json["totals"]
    assert both == ctxtui("cost", path, "--json").json["totals"]

    # What the client adds to an export counts.
    export.write_bytes(export.read_bytes() + added(path.read_bytes().splitlines()[-1], "more"))
    gone_on = await agreed(ctxtui)
    row = gone_on.rows[str(export)]
    assert row[0] == 1 and gone_on.calls == before.calls + 1
    assert gone_on.usd == pytest.approx(before.usd + row[3]) and gone_on.tokens == before.tokens + row[2]
    assert made_by_ctxtui(ctxtui) == set(new) - {str(export)}
