"""The pane of the next call: what it says holds at the moment at which it is read."""

from __future__ import annotations

from ctxtui.analysis.cache.next_call import Coming
from ctxtui.dataclasses import replace
from ctxtui.views.inspector.next_call import lines, notes, sentence
from ctxtui.views.text.span import plain, width

THEN = 1_700_000_000.0
WARM = Coming(
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
    marks=2,
)


def told(now: float, room: int, what: Coming = WARM) -> str:
    drawn = lines(what, now, room, 3)
    assert all(width(line) < room for line in drawn)
    return "\n".join(plain(line) for line in drawn)


def test_what_has_expired_saves_nothing_any_more() -> None:
    for room in (30, 34, 50):
        warm, late = told(THEN + 5, room), told(THEN + 500 * 86_400, room)
        assert "saves 89 %" in warm and "expires in 4:41" in warm
        assert "saves" not in late and "saved 89 % then" in late and "expired" in late, late
        assert "nothing is cached" in told(THEN, room, replace(WARM, read=0, expires=None, uncached=0.1))
    assert "saved 89 % then" in "".join(plain(line) for line in sentence(WARM, THEN + 9_999))


def test_figures_of_a_context_that_has_grown_since_say_so() -> None:
    for room in (30, 50):
        assert plain(notes(replace(WARM, outdated=True), room)) == "forecast a moment ago"
        assert plain(notes(WARM, room)).startswith("forecast") and "ago" not in plain(notes(WARM, room))
