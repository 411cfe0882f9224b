"""The law: what was not reported is not zero. Reports are taken out of recordings of every kind; no sum may rise, each
says that it is the least, and none is told as 0."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ctxtui.analysis.money.spending import rows_by_call
from ctxtui.analysis.money.totals import row_fields, session_totals
from ctxtui.core.call import COUNTED, IN_ALL, Fidelity
from ctxtui.core.errors import CtxtuiError
from ctxtui.core.session import Session
from ctxtui.pricing.price import price_call
from ctxtui.services.config.package_data import price_table
from ctxtui.services.recordings.open import load
from ctxtui.transcripts.registry import detect
from ctxtui.views.text import numbers
from tests.cases import pi
from tests.cli.money.test_unreported import REPORT, har, streamed
from tests.corpus import every_recording
from tests.services.lookalike import ClaudeCode, codex, lines

CALLS = 6
Silence = Callable[[bytes, set[int], bool], bytes]
"""Takes the reports of the calls with these numbers out of a recording, or (True) makes them zeros."""


def zeros(report: Any) -> Any:
    """A report of the same shape that counts nothing."""
    if isinstance(report, dict):
        return {key: zeros(one) for key, one in report.items()}
    return 0 if isinstance(report, int | float) else report


def by_message(data: bytes, silent: set[int], zeroed: bool) -> bytes:
    """Of records with a message and a usage: Claude Code's and pi's."""
    records, seen = [json.loads(line) for line in data.splitlines()], dict[str, int]()
    for number, one in enumerate(records):
        message = one.get("message") or {}
        if message.get("role") == "assistant" and "usage" in message:
            call = seen.setdefault(message.get("id") or str(number), len(seen))
            if call in silent:
                message["usage"] = zeros(message["usage"]) if zeroed else {}
    return lines(records)


def by_count(data: bytes, silent: set[int], zeroed: bool) -> bytes:
    """Of Codex's counts, which also tell the sum so far: that goes, too."""
    records = [json.loads(line) for line in data.splitlines()]
    counts = [one["payload"] for one in records if one["payload"].get("type") == "token_count"]
    for number in silent:
        counts[number]["info"] = zeros(counts[number]["info"]) if zeroed else None
    for one in counts:
        (one["info"] or {}).pop("total_token_usage", None)
    return lines(records)


def by_chunk(data: bytes, silent: set[int], zeroed: bool) -> bytes:
    """Of streams on the wire."""
    spent = [[] if n in silent and not zeroed else [zeros(REPORT) if n in silent else REPORT] for n in range(CALLS)]
    return har(*(streamed(f"chatcmpl-{n}", *one) for n, one in enumerate(spent)))


KINDS: dict[str, tuple[str, bytes, Silence]] = {
    "claude code": ("a.jsonl", lines(ClaudeCode().turns(CALLS // 2)), by_message),
    "codex": ("rollout-2026-09-10T10-00-00-01990000-0000-7000-8000-000000000001.jsonl", codex(CALLS), by_count),
    "pi": ("a.jsonl", pi.shop(CALLS // 2).dump(), by_message),
    "har": ("a.har", b"", by_chunk),
}


def read(name: str, data: bytes) -> Session:
    """The session in a file of this name."""
    form = detect(data[:65536], name)
    assert form is not None
    session = Session()
    reader = form.open(session.tree)
    return session.fold(reader.feed(data)).fold(reader.settle())


def summed(session: Session) -> dict[str, Any]:
    """What a session comes to, as JSON has it."""
    costs = {id_: price_call(call, price_table()) for id_, call in session.calls.items()}
    found = row_fields(session_totals(session, costs).total)
    rows = rows_by_call(session.calls.values(), costs, lambda call: call.id)
    assert all(row.usd != 0 or not row.partial for row in rows)
    return found


def hold(whole: dict[str, Any], less: dict[str, Any], missing: int) -> None:
    """The law: `less` is the same session with so many reports fewer."""
    assert less["calls"] == whole["calls"] and less["partial_calls"] == whole["partial_calls"] + missing
    assert less["tokens"] <= whole["tokens"] and (less["cost_usd_at_least"] or 0) <= (whole["cost_usd_at_least"] or 0)
    if missing:
        assert less["cost_usd"] is None and less["cost_usd_at_least"] != 0
        assert numbers.least(less["cost_usd_at_least"], True).startswith(("≥ ", "unknown"))
        assert numbers.least_tokens(less["tokens"], True).startswith(("≥", numbers.NONE))


@pytest.mark.parametrize("kind", KINDS)
@given(silent=st.sets(st.integers(0, CALLS - 1)), zeroed=st.booleans())
def test_law_what_is_not_reported_is_not_zero(kind: str, silent: set[int], zeroed: bool) -> None:
    name, data, silence = KINDS[kind]
    whole, less = (summed(read(name, silence(data, calls, zeroed))) for calls in (set[int](), silent))
    assert whole["calls"] == CALLS and whole["cost_usd"] > 0
    hold(whole, less, len(silent))


@pytest.mark.parametrize("path", every_recording())
def test_law_of_the_recordings_of_the_corpus(path: Path) -> None:
    try:
        session = load(path).session
    except CtxtuiError:
        pytest.skip("no recording")
    whole = summed(session)
    reported = [
        call
        for call in session.calls.values()
        if call.is_reported
        and not call.is_partial
        and IN_ALL not in call.extra
        and call.fidelity != Fidelity.TOTALS
        and call.stop_reason != COUNTED
        and not call.error
    ]
    gone = reported[::3]
    session.calls.update({call.id: replace(call, usage=None) for call in gone})
    hold(whole, summed(session), len(gone))
