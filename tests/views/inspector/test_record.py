"""The running record of forecasts, and what the call's pane says where there is little room."""

from __future__ import annotations

import pytest

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


@pytest.mark.parametrize(
    ("room", "told"),
    [
        (200, "forecast right 97 of 98"),
        (160, "97/98 right"),
        (150, "forecast right 97 of 98"),
        (120, ""),
        (100, ""),
        (80, ""),
        (40, ""),
    ],
)
def test_the_record_stands_in_the_header_where_it_fits(room: int, told: str) -> None:
    drawn = header.draw(
        Header(**{name: getattr(WHAT, name) for name in WHAT.__struct_fields__} | {"record": (97, 98)}), room
    )
    assert told in plain(drawn) and width(drawn) == room
    assert told or "right" not in plain(drawn)
    assert "forecast" not in plain(header.draw(WHAT, room))


def test_the_call_pane_names_the_record_where_there_is_room() -> None:
    what = ThisCall(reported=True, lines=(), total=0.1, priced=True, uncached=None, facts=(), record=(97, 98))
    assert plain(this_call.notes(what, 46)) == "forecast right 97 of 98"
    assert plain(this_call.notes(what, 60)) == "forecast right 97 of 98 · reported"
    assert plain(this_call.notes(what, 30)) == "reported"


@pytest.mark.parametrize("room", [29, 30, 45])
def test_what_the_pane_says_is_not_cut(room: int) -> None:
    silent = ThisCall(reported=False, lines=(), total=None, priced=False, uncached=None, facts=())
    unpriced = ThisCall(reported=True, lines=(), total=None, priced=True, uncached=None, facts=())
    for what in (silent, unpriced):
        assert all(width(line) <= room for line in this_call.lines(what, room, 3))
