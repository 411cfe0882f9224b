"""The header without a record of forecasts, and what the call's pane says where there is little room."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from ctxtui.analysis.context_window import ContextWindow
from ctxtui.views.inspector import header, this_call
from ctxtui.views.inspector.header import Header
from ctxtui.views.inspector.this_call import ThisCall
from ctxtui.views.text.span import plain, width

WHAT = Header(
    title="a session's title",
    model="opus-4",
    call=99,
    state="recorded",
    fidelity="transcript",
    used=122_400,
    limits=ContextWindow(200_000, 150_000),
    cost=20.88,
    priced=True,
)


@pytest.mark.parametrize("room", [200, 150, 120, 80, 40])
def test_the_record_of_forecasts_stands_behind_the_explanation_alone(room: int) -> None:
    drawn = header.draw_header(replace(WHAT, record=(97, 98)), room)
    assert "97" not in plain(drawn) and width(drawn) == room
    assert "opus-4" in plain(drawn) or room < 120, "the model has the room that the record had"


@pytest.mark.parametrize("room", [29, 30, 45])
def test_what_the_pane_says_is_not_cut(room: int) -> None:
    silent = ThisCall(reported=False, lines=(), total=None, priced=False, uncached=None, facts=())
    unpriced = ThisCall(reported=True, lines=(), total=None, priced=True, uncached=None, facts=())
    for what in (silent, unpriced):
        assert all(width(line) <= room for line in this_call.lines(what, room, 3))
