"""The pane of the next call: what it says holds at the moment at which it is read."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from ctxtui.analysis.cache.keep_warm import KeepWarmStatus
from ctxtui.analysis.cache.next_call import NextCallForecast
from ctxtui.views.inspector.next_call import lines, notes, plain_lines
from ctxtui.views.text import numbers
from ctxtui.views.text.span import Span, plain, width

THEN = 1_700_000_000.0
WARM = NextCallForecast(
    model="claude-opus-4",
    input=106_000,
    lo=105_000,
    hi=107_000,
    read=94_000,
    write=12_000,
    fresh=8,
    answer=120,
    usd=(0.047, 0.075, 0.0, 0.003),
    uncached=1.136,
    at=THEN,
    expires=THEN + 286,
    life=300,
    inferred=True,
    marker_count=2,
)


def told(now: float, room: int, what: NextCallForecast = WARM) -> str:
    drawn = lines(what, now, room, 3)
    assert all(width(line) < room for line in drawn)
    return "\n".join(plain(line) for line in drawn)


def test_what_has_expired_saves_nothing_any_more() -> None:
    for room in (30, 34, 50):
        warm, late = told(THEN + 5, room), told(THEN + 500 * 86_400, room)
        assert "saves 89 %" in warm and "expires in 4:41" in warm
        assert "saves" not in late and "saved 89 % then" in late and "expired" in late, late
        assert "nothing is cached" in told(THEN, room, replace(WARM, read=0, expires=None, uncached=0.1))
    assert "saved 89 % then" in "".join(plain(line) for line in plain_lines(WARM, THEN + 9_999))


def test_figures_of_a_context_that_has_grown_since_say_so() -> None:
    for room in (30, 50):
        assert plain(notes(replace(WARM, outdated=True), room)) == "forecast a moment ago"
        assert plain(notes(WARM, room)).startswith("forecast") and "ago" not in plain(notes(WARM, room))


@pytest.mark.parametrize(
    ("room", "said"),
    [(30, "warm 3× $0.012"), (38, "warm 3× $0.012 of $0.5"), (50, "kept warm 3×, $0.012 of $0.5")],
)
def test_what_keeps_the_cache_warm_is_said_in_amber_where_it_no_longer_is(room: int, said: str) -> None:
    status = KeepWarmStatus(cap_usd=0.5, usd=0.0124, count=3)
    (kept,) = notes(WARM, room, status)
    (over,) = notes(WARM, room, replace(status, why="the limit of $0.5 is reached"))
    assert (kept.text, kept.style, over.text, over.style) == (said, "dim", said, "warn")
    assert plain(notes(replace(WARM, outdated=True), room, status)) == "forecast a moment ago"


@pytest.mark.parametrize("room", [30, 31, 34, 50])
@pytest.mark.parametrize("tokens", [8, 1_234, 187_300, 999_949, 1_250_000])
@pytest.mark.parametrize("marks", [0, 2, 4])
def test_no_figure_and_no_word_is_cut_off(room: int, tokens: int, marks: int) -> None:
    large = replace(WARM, read=tokens, write=tokens, fresh=tokens, answer=tokens, marker_count=marks, inferred=False)
    first, _, life = (plain(line) for line in lines(large, THEN + 5, room, 3))
    assert first.count(numbers.tokens(tokens)) == 4 and width([Span(first)]) <= room
    assert "expires in 4:41" in life
    unknown = plain(lines(replace(large, expires=None), THEN, room, 3)[2])
    assert unknown.rstrip().endswith("not known") and width([Span(unknown)]) <= room
