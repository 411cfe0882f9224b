"""What a marker wrote, how often it was read, and whether it paid."""

from __future__ import annotations

import pytest

from ctxtui.cache.marker_value import evaluate_markers
from ctxtui.cache.optimal_markers import MarkerRates
from tests.cache.bodies import Desk, assistant, text, user

RATES = MarkerRates(1.0, 0.1, {300.0: 1.25, 3600.0: 2.0})


def test_an_entry_that_is_read_twice_pays_and_one_that_is_not_does_not() -> None:
    desk = Desk()
    start = [user(text("a#2000", ""))]
    grown = [user(text("a#2000")), assistant(text("b")), user(text("c", ""))]
    sent = [desk.send(at, messages) for at, messages in ((0, start), (10, grown), (20, grown))]
    first, second = evaluate_markers(sent, [RATES] * len(sent))
    assert (first.call, first.written, first.reads, first.read) == (0, 2000, 2, 4000)
    assert first.gain == pytest.approx(4000 * 0.9 - 2000 * 0.25) and first.has_paid
    assert (second.call, second.written, second.reads, second.read) == (1, 200, 1, 200)
    late = desk.send(4000, grown)
    assert [w.has_paid for w in evaluate_markers([*sent, late], [RATES] * 4)] == [True, True, False]


def test_what_is_saved_and_paid_adds_up() -> None:
    """Gains are what the session costs less than without any marker."""
    desk = Desk()
    messages = [user(text("a#2000", "1h"))]
    sent = []
    for n, at in enumerate((0, 100, 2000, 9000)):
        messages = [*messages, assistant(text(f"{n}#300")), user(text(f"{n}#50", ""))]
        plain = [
            {**m, "content": [{k: v for k, v in b.items() if k != "cache_control"} for b in m["content"]]}
            for m in messages[:-1]
        ]
        sent.append(desk.send(at, [*messages[:1], *plain[1:], messages[-1]]))
    cost = sum(RATES.cost(outcome) for outcome in sent)
    plain_cost = sum(outcome.total for outcome in sent)
    assert sum(one.gain for one in evaluate_markers(sent, [RATES] * len(sent))) == pytest.approx(plain_cost - cost)
