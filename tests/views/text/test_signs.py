"""Signs: one glyph means one thing."""

from __future__ import annotations

from collections import defaultdict

from ctxtui.views.lists.lab import STAR
from ctxtui.views.text.signs import CATEGORY, GUTTER, MARK, REPEAT, TRACK

KINDS_OF_ONE = [
    {"summary", "compaction"},
    {"miss", "ttl miss"},
    {"read again", "edited since"},
    {"here", "warning"},
    {"assistant", "live"},
]
"""What shares a glyph: kinds of one thing, and two that a colour tells apart and that never stand in one column."""


def test_a_glyph_has_one_meaning() -> None:
    names = defaultdict(set)
    for sign in (*CATEGORY, *MARK.values(), *REPEAT.values(), *GUTTER.values(), *TRACK.values()):
        names[sign.glyph].add(sign.name)
    names[STAR].add("front of cost and risk")
    assert [found for found in names.values() if len(found) > 1 and found not in KINDS_OF_ONE] == []
