from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxtui.views.text import bars
from ctxtui.views.text.span import Span, plain, width

amount = st.floats(0, 1e9)


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0, ""), (0.4, "·"), (0.5, "╸"), (1, "━"), (1.5, "━╸"), (9.9, "━" * 10), (10, "━" * 10), (99, "━" * 10)],
)
def test_line(value: float, shown: str) -> None:
    assert bars.line(value, 10, 10) == shown


def test_the_transcript_leaves_the_dot_out() -> None:
    assert bars.line(0.4, 10, 10, tiny="") == ""


@given(amount, amount, st.integers(0, 60))
def test_bars_keep_their_room(value: float, scale: float, room: int) -> None:
    assert len(bars.line(value, scale, room)) <= room
    assert width(bars.level(value, scale, room)) == room
    assert width(bars.staged(value, scale / 3, scale, room, "ink")) <= room


def test_level_and_progress() -> None:
    assert bars.level(5, 10, 6) == [Span("━━━", "readtx"), Span("───", "hair")]
    assert plain(bars.progress(312, 595, 10)) == "━━━━━─────"
    assert plain(bars.progress(594, 595, 4)) == "━━━─"
    assert plain(bars.progress(595, 595, 4)) == "━━━━"
    assert plain(bars.progress(0, 0, 4)) == "━━━━"


def test_staged() -> None:
    assert bars.staged(3, 4, 7, 7, "cat-call") == [Span("━━━", "cat-call"), Span("╌╌╌╌", "warn")]
    assert plain(bars.staged(0, 4, 4, 4, "cat-call")) == "╌╌╌╌"
    assert plain(bars.staged(4, 0, 4, 4, "cat-call")) == "━━━━"


@pytest.mark.parametrize(
    ("used", "style"), [(0, "readtx"), (134_999, "readtx"), (135_000, "warn"), (149_999, "warn"), (150_000, "crit")]
)
def test_level_colour(used: float, style: str) -> None:
    assert bars.budget_style(used, 150_000) == style


def test_budget() -> None:
    assert plain(bars.budget(100_000, 150_000, 200_000, 20)) == "█" * 10 + "·" * 5 + "┃╱╱╱╱"
    over = bars.budget(180_000, 150_000, 200_000, 20)
    assert plain(over) == "█" * 15 + "┃██╱╱"
    assert over[0].style == "crit"
    assert plain(bars.budget(160_000, 150_000, 200_000, 20, after=100_000)) == "█" * 10 + "░" * 5 + "┃╱╱╱╱"
    assert plain(bars.budget(0, 0, 0, 4)) == "····"
    assert plain(bars.budget(500_000, 150_000, 200_000, 8)) == "██████┃█"


@given(amount, amount, amount, st.integers(0, 60), st.none() | amount)
def test_budget_is_exactly_its_room(used: float, usable: float, window: float, room: int, after: float | None) -> None:
    assert width(bars.budget(used, usable, window, room, after)) == room
