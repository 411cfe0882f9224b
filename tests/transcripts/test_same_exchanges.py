"""The same exchanges are the same session, whatever recorded them: threads, calls, tokens, cost and cache."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxtui.core.session import MAIN, Session
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.accounts import make_account
from ctxtui.services.counting.counting import Counter
from ctxtui.services.counting.pricing import total_session
from ctxtui.services.recordings.open import load
from ctxtui.transcripts.kit.file_head import HEAD_BYTES
from ctxtui.transcripts.kit.http_exchange.pair import COUNTS
from ctxtui.transcripts.registry import detect
from tests.cases.exchanges import CONTAINERS, WITH_HEADERS, Made, as_chat, grid, scenarios
from tests.corpus import corpus_params
from tests.transcripts.reading import read, total

SETTINGS = Settings()


def sessions(made: list[Made]) -> dict[str, Session]:
    """The exchanges read from every container; where a client names itself, from those that hold headers."""
    names = WITH_HEADERS if any(one.headers for one in made) else CONTAINERS
    return {name: read(CONTAINERS[name][1](made), CONTAINERS[name][0]) for name in names}


def threads(session: Session) -> dict[str, tuple[str, list[tuple[Any, ...]]]]:
    """Each thread's parent and calls: when each was made, what it used, why its epoch began, how many blocks it had."""
    tree = session.tree
    return {
        id_: (
            session.threads[id_].parent,
            [
                (call.at, call.usage, call.epoch.number, call.epoch.start, bool(call.error), tree[call.raw_head].depth)
                for call in session.thread_calls(id_)
            ],
        )
        for id_ in session.threads
    }


def figures(session: Session) -> dict[str, Any]:
    """What the session comes to, and what its cache did."""
    totals = total_session(session, SETTINGS).as_fields()
    found = make_account(session, Counter(), SETTINGS).misses()
    report = (found.calls, found.usd, found.lost, found.tested, found.foreseen, found.false_alarms)
    rows = [(one.thread, one.number, one.cause, one.tokens, one.usd, one.read, one.shared) for one in found.misses]
    return {"totals": totals, "cache": report, "misses": rows}


def same(made: list[Made]) -> dict[str, Session]:
    read_from = sessions(made)
    first = read_from["har"]
    for name, session in read_from.items():
        assert threads(session) == threads(first), name
        assert len(session.calls) == len(made), name
        assert total(session) == total(first), name
        assert figures(session) == figures(first), name
        assert session.about.title == first.about.title, name
    return read_from


@settings(max_examples=settings().max_examples // 5)
@given(scenarios(), st.booleans())
def test_the_same_exchanges_are_the_same_session_in_every_container(made: list[Made], chat: bool) -> None:
    same(as_chat(made) if chat else made)


@settings(max_examples=settings().max_examples // 5)
@given(scenarios(signed=True))
def test_what_a_client_names_is_its_thread_in_every_container(made: list[Made]) -> None:
    session = same(made)["har"]
    agents = {one.headers.get("X-Claude-Code-Agent-Id", "") for one in made} - {""}
    begun = {id_.rpartition(" · ")[2]: id_ for id_, thread in session.threads.items() if thread.parent}
    assert begun.keys() == agents
    for name, id_ in begun.items():
        named = [one.at for one in made if one.headers.get("X-Claude-Code-Agent-Id") == name]
        assert [call.at for call in session.thread_calls(id_)] == named


def test_requests_of_two_system_prompts_are_two_threads_and_no_subagent() -> None:
    for session in same(grid()).values():
        assert [len(session.thread_calls(id_)) for id_ in session.threads] == [3, 3]
        assert [thread.parent for thread in session.threads.values()] == ["", ""]
        assert figures(session)["totals"]["subagents"]["threads"] == 0
        assert next(iter(session.threads)) == MAIN


@pytest.mark.parametrize("path", corpus_params("clients", "*/*/wire.jsonl"))
def test_what_went_over_the_wire_has_the_threads_of_the_client(path: Path) -> None:
    if detect(path.read_bytes()[:HEAD_BYTES], path.name) is None:
        pytest.skip("each body is in a file of its own")
    wire = read(path.read_bytes(), path.name)
    transcripts = [load(one).session for one in path.parent.glob("*.jsonl") if one != path]
    own = max(transcripts, key=lambda session: len(session.calls))
    agents = {id_: len(wire.order[id_]) for id_, thread in wire.threads.items() if thread.parent}
    told = {id_ for id_, thread in own.threads.items() if thread.parent and own.thread_calls(id_)[0].is_reported}
    beside = {id_ for id_ in told if own.thread_calls(id_)[0].is_sum or id_.startswith("compaction")}
    assert agents == {id_: len(own.order[id_]) for id_ in told - beside}
    assert wire.threads.keys() - agents.keys() <= {MAIN, COUNTS}
    assert len(wire.order[MAIN]) >= len(own.order[MAIN])
