"""Members of recordings that are figures: what no figure can be is none."""

from __future__ import annotations

import json

import pytest

from ctxtui.core.canonical import Json, loads
from ctxtui.core.json_values import as_number
from ctxtui.core.session import Session
from ctxtui.transcripts.formats.ctxtui import CtxtuiReader
from ctxtui.transcripts.formats.pi.resume import _make_source_entry
from ctxtui.transcripts.kit.fields import as_time


@pytest.mark.parametrize(
    ("told", "usd"),
    [("0.25", 0.25), ("1e3", 1000.0), ("0", 0.0), ("9" * 400, None), ("1e999", None), ("-1e300", None), ("true", None),
     ('"1"', None), ("null", None)],
)  # fmt: skip
def test_money_is_a_number_that_can_be_summed(told: str, usd: float | None) -> None:
    assert as_number(loads(told.encode())) == usd


@pytest.mark.parametrize("cost", ["9" * 400, "1e999", '"x"', "[]", "true"])
def test_a_call_of_our_own_format_costs_a_number(cost: str) -> None:
    call: Json = {"call": "a", "thread": "main", "raw": 0, "sent": 0, "response": 0, "usage": {"fresh": 1, "cost": 0}}
    lines = [b'{"ctxtui":1,"minor":0,"session":{}}', json.dumps(call).replace('"cost": 0', f'"cost": {cost}').encode()]
    reader = CtxtuiReader(Session().tree)
    told = [getattr(event, "reason", "") for event in reader.feed(b"\n".join(lines) + b"\n")]
    assert any("usage.cost must be a number" in words for words in told)


@pytest.mark.parametrize("fresh", ["9" * 400, "-" + "9" * 400, "1.5", '"x"'])
def test_a_call_of_our_own_format_has_tokens_that_can_be_counted(fresh: str) -> None:
    call: Json = {"call": "a", "thread": "main", "raw": 0, "sent": 0, "response": 0, "usage": {"fresh": 0}}
    lines = [
        b'{"ctxtui":1,"minor":0,"session":{}}',
        json.dumps(call).replace('"fresh": 0', f'"fresh": {fresh}').encode(),
    ]
    told = [getattr(event, "reason", "") for event in CtxtuiReader(Session().tree).feed(b"\n".join(lines) + b"\n")]
    assert any("usage.fresh must be a whole number" in words for words in told)


def test_an_entry_of_another_role_than_its_id_says_stays_as_recorded() -> None:
    entry = _make_source_entry(
        b"{}", {"type": "message", "message": {"role": "user", "toolCallId": "a", "content": []}}
    )
    assert not entry.change(3, None)
    assert not entry.changes and not entry.removed


@pytest.mark.parametrize(("told", "seconds"), [("1.70e9", 1.7e9), ("1700000000.10", 1700000000.1), ("1e400", None)])
def test_a_time_is_a_number_in_any_spelling(told: str, seconds: float | None) -> None:
    assert as_time(loads(told.encode())) == seconds
