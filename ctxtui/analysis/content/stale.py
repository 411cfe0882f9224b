"""Stale results: what a tool answered that no longer says how things are, or that was asked for in an earlier turn."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ctxtui.analysis.content.duplicates import EDITED, IDENTICAL, NEAR, REREAD, WORKSPACE, Repeat
from ctxtui.core.category import INDEX
from ctxtui.core.tree import Tree
from ctxtui.core.turns import Turns

EARLIER: Final = "earlier turn"
_WHY: Final = {EDITED: "changed since", REREAD: "read again", IDENTICAL: "twice", NEAR: "nearly twice"}
_RESULT: Final = INDEX["tool_result"]


def stale(tree: Tree, head: int, turns: Turns, repeats: Iterable[Repeat]) -> dict[int, str]:
    """The stale tool results of the context `head`, each with why: its file was read again or changed since, its text
    stands elsewhere too (`repeats` of this context), or it answers a call of an earlier turn."""
    known = {one.node: _WHY[one.kind] for one in repeats if one.kind != WORKSPACE}
    now = turns.of(head)
    found = {}
    for node in tree.path(head):
        if tree[node].category == _RESULT:
            why = known.get(node) or (EARLIER if now and turns.of(node) < now else "")
            if why:
                found[node] = why
    return found
