"""What the pane of staged edits says of prices stays apart, whatever the figures are."""

from __future__ import annotations

import pytest

from ctxtui.views.text import cells
from ctxtui.views.transcript.staged_pane import format_payback

COLUMN = {True: 12, False: 8}
"""Cells of the column in the pane, wide and narrow."""


@pytest.mark.parametrize("wide", [True, False])
def test_when_it_pays_never_fills_its_column(wide: bool) -> None:
    counts = [
        None,
        0,
        1,
        *(base * 10**power + more for power in range(12) for base in (1, 9) for more in (0, 5, 6, 49)),
    ]
    for calls in counts:
        assert cells.width(format_payback(calls, wide)) < COLUMN[wide], calls


def test_what_no_session_reaches_is_told_as_that() -> None:
    assert [format_payback(calls, True) for calls in (1, 9_999, 72_600, 99_949, 99_950, 272_600)] == [
        "1 call",
        "9,999 calls",
        "72.6k calls",
        "99.9k calls",
        ">100k calls",
        ">100k calls",
    ]
