"""The law of reports: what a call is said to have used changes neither what it sent nor its own forecast."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxtui.analysis.audit import audit_calls
from ctxtui.core.session import Session
from ctxtui.transcripts.kit.records import RawRecord, RecordStream
from tests.cases import claude_code, claude_code_odd, claude_code_requests, codex, codex_odd, opencode, pi
from tests.cases.sessions import book_of
from tests.corpus import ROOT, need_corpus
from tests.transcripts.driving import read

CLAUDE: dict[str, Callable[[], bytes]] = {
    **claude_code_odd.ODDITIES,
    "claude code": lambda: claude_code.generate(30, 1, bytes_per_message=700, compactions=1, subagents=1),
    "claude code with requests": lambda: claude_code_requests.parallel().dump(),
}
CASES: dict[str, Callable[[], bytes]] = {
    **CLAUDE,
    **codex_odd.ODDITIES,
    "codex": lambda: codex.generate(30, 1, bytes_per_message=700, compactions=1),
    "pi": lambda: pi.shop(6).dump(),
    "opencode": lambda: opencode.shop(6).dump(),
    "ctxtui": (ROOT / "sessions" / "4-pedroceli.jsonl").read_bytes,
}
RECORDINGS = {
    "claude_code": "entire-cli__37_995ebed6e4_3.jsonl",
    "codex": "agentv__8d_1ecb6dc628_0.rollout.jsonl",
    "gemini_cli": "entire-cli__51_3fab7adf0b_0.jsonl",
    "inspect": "test_logs__2025-05-12T20-27-36-04-00_browser.json",
    "mini_swe_agent": "django__django-11099.traj.json",
    "openhands": "fixtures__events.jsonl",
}
"""One recording of each client that reports what calls used; pi's are large, and left to `make test-all`."""
REPORTS = frozenset({"usage", "tokens", "last_token_usage", "total_token_usage", "accumulated_token_usage"})


@cache
def records(data: bytes) -> str:
    """The objects in a file, as one JSON list."""
    stream = RecordStream()
    found = [one for one in [*stream.feed(data), *stream.settle()] if isinstance(one, RawRecord)]
    return json.dumps([json.loads(one.raw, strict=False) for one in found])


def reports(value: Any) -> Iterator[dict[str, Any]]:
    """Every report of what a call used inside `value`."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        if key in REPORTS and isinstance(inner, dict):
            yield inner
        else:
            yield from reports(inner)


def change(report: dict[str, Any], numbers: list[int], dice: Random) -> None:
    """Other numbers in `report`, most of them ones that other reports have."""
    for key, value in report.items():
        if isinstance(value, dict):
            change(value, numbers, dice)
        elif isinstance(value, int) and not isinstance(value, bool):
            report[key] = dice.choice(numbers) if dice.random() < 0.8 else dice.randrange(100_000)


def counts(report: dict[str, Any]) -> list[int]:
    """The numbers of a report, and the sums of two of them: what its call left in the cache is one."""
    own = [n for n in report.values() if isinstance(n, int) and not isinstance(n, bool)]
    return [*own, *(one + other for one in own for other in own)]


def changed(data: bytes, dice: Random) -> bytes:
    """The file with other numbers in one report, or in all from one on."""
    found = json.loads(records(data))
    every = list(reports(found))
    if not every:
        return claude_code.dump(found)
    first, numbers = dice.randrange(len(every)), [n for report in every for n in counts(report)] or [0]
    for report in every[first : first + 1] if dice.random() < 0.5 else every[first:]:
        change(report, numbers, dice)
    return claude_code.dump(found)


@cache
def foretold(data: bytes, name: str) -> tuple[Session, dict[tuple[str, int], tuple[int, int, int]]]:
    """The session, and each call's forecast with its interval, by thread and number."""
    session = read(data, name=name).session
    return session, {(row.thread, row.call): (row.predicted, row.lo, row.hi) for row in audit_calls(book_of(session))}


def contexts(session: Session) -> list[tuple[str, str, list[str]]]:
    """What each call sent."""
    tree = session.tree
    return [(c.id, c.thread, [one.block.digest for one in tree.items(c.sent_head)]) for c in session.calls.values()]


def holds(data: bytes, dice: Random, name: str = "x.jsonl") -> None:
    """Up to the first call that is reported otherwise, itself included, everything is foretold as before."""
    before, forecasts = foretold(claude_code.dump(json.loads(records(data))), name)
    after, others = foretold.__wrapped__(changed(data, dice), name)
    if len(after.calls) != len(before.calls):
        return  # Codex: a count that repeats the totals tells of no call
    numbers = {id_: (thread, n) for thread, order in before.order.items() for n, id_ in enumerate(order, 1)}
    # Where a client names no call, the reader's name for it is made of all that is on record.
    for call, other in zip(before.calls.values(), after.calls.values(), strict=True):
        place = numbers[call.id]
        if place in forecasts and place in others:
            assert others[place] == forecasts[place], (call.id, call.usage, other.usage)
        if call.usage != other.usage:
            return


@given(name=st.sampled_from(sorted(CASES)), dice=st.randoms(use_true_random=False))
def test_a_forecast_does_not_know_its_calls_report(name: str, dice: Random) -> None:
    holds(CASES[name](), dice)


@given(name=st.sampled_from(sorted(CLAUDE)), dice=st.randoms(use_true_random=False))
def test_what_was_sent_does_not_depend_on_any_report(name: str, dice: Random) -> None:
    data = CLAUDE[name]()
    plain = claude_code.dump(json.loads(records(data)))
    assert contexts(read(changed(data, dice)).session) == contexts(read(plain).session)


def test_no_read_from_the_cache_tells_what_was_sent() -> None:
    found = [json.loads(line) for line in claude_code.generate(24, 3, bytes_per_message=700).splitlines()]
    plain = contexts(read(claude_code.dump(found)).session)
    left: dict[str, int] = {}
    for record in (one for one in found if one["type"] == "assistant"):
        usage, id_ = record["message"]["usage"], record["message"]["id"]
        own = usage["cache_read_input_tokens"]
        for usage["cache_read_input_tokens"] in [n for other, n in left.items() if other != id_][-4:-1]:
            assert contexts(read(claude_code.dump(found)).session) == plain
        usage["cache_read_input_tokens"] = own
        left[id_] = own + usage["cache_creation_input_tokens"]


@pytest.mark.parametrize("folder", RECORDINGS)
def test_a_recording_of_each_client(folder: str) -> None:
    (path,) = need_corpus(folder, RECORDINGS[folder])
    holds(path.read_bytes(), Random(1), path.name)


@pytest.mark.slow
@pytest.mark.parametrize("folder", [*RECORDINGS, "pi"])
def test_every_recording_of_each_client(folder: str) -> None:
    for path in need_corpus(folder, "*.json*"):
        for seed in range(4):
            holds(path.read_bytes(), Random(seed), path.name)
