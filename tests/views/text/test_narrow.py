"""Panes of a few cells: what stands there stands there whole."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from ctxtui.views.inspector.this_call import ThisCall, lines
from ctxtui.views.text import narrow
from ctxtui.views.text.span import plain, width


def told(what: ThisCall, room: int) -> str:
    drawn = lines(what, room, 3)
    assert all(width(line) <= room for line in drawn)
    return plain(drawn[-1]).strip()


def test_facts_about_a_call_stand_whole_or_not_at_all() -> None:
    facts = ("after 0:04", "took 0:04", "end turn")
    what = ThisCall(reported=True, lines=(), total=1.0, priced=True, uncached=None, facts=facts)
    assert told(what, 50) == "after 0:04 · took 0:04 · end turn"
    assert told(what, 30) == "after 0:04 · took 0:04"
    assert told(replace(what, error="overloaded\n\x1b[2J"), 30) == "✗ overloaded ␛[2J"
    assert narrow.facts((), 20) == "" and narrow.facts(("program 12.3k → sent 4.5k",), 12) == "program 12.…"
    assert narrow.facts(("one that is too long", "short"), 20) == "one that is too long"


@pytest.mark.parametrize(
    ("missed", "shown"),
    [
        ("154k rewritten: system changed", "▼ 154k: system changed"),
        ("188k rewritten after a 52-minute pause", "▼ 188k: 52-minute pause"),
        ("85k rewritten: tools", "▼ 85k rewritten: tools"),
    ],
)
def test_a_miss_says_its_cause_where_there_is_little_room(missed: str, shown: str) -> None:
    what = ThisCall(reported=True, lines=(), total=1.0, priced=True, uncached=None, facts=(), missed=missed)
    assert told(what, 30) == shown
    assert told(what, 60) == f"▼ {missed}"
