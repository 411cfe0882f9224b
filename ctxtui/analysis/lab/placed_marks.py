"""Where the cache markers of a request stand under a variant: the client's own, or those of a strategy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from ctxtui.analysis.cache.prompts import CachePrompts, message_before
from ctxtui.analysis.lab.edited_path import EditedPath
from ctxtui.analysis.lab.variant import RECORDED
from ctxtui.cache.marker_placement import STRATEGIES, DeepestCached, KnownEnds, PlacementRequest, Strategy
from ctxtui.cache.rules import CacheRules
from ctxtui.core.call import Call
from ctxtui.core.tree import ROOT, Tree
from ctxtui.curation.apply.applied import RAW, Applied
from ctxtui.curation.apply.standing_markers import markers_under_edits

LIVES: Final = ("5m", "1h")
"""The client's own markers, but with this lifetime for all of them."""

Mark = tuple[int, float, int]
"""A node, a lifetime in seconds, and as `CacheMarker.ends`."""


def strategy_names() -> tuple[str, ...]:
    """Every cache strategy, as it is asked for."""
    return (RECORDED, *LIVES, *(spelled(one.name) for one in STRATEGIES))


def spelled(name: str) -> str:
    """A strategy's name in one word."""
    return name.replace(" + ", "+").replace(" ", "-")


_BY_NAME: Final = {spelled(one.name): one for one in reversed(STRATEGIES)}


def strategy_of(name: str) -> Strategy | None:
    """The strategy called so; None for the client's own markers."""
    return _BY_NAME.get(spelled(name))


class SentRequestHere(NamedTuple):
    """A request under a variant: its recorded `call` with the `head` of what leaves, the edits that made it of the
    recorded context, and the `path` on which its blocks stand. `life` is the client's lifetime ("": the default),
    `marked` whether it sets markers at all where none are on record."""

    call: Call
    head: int
    applied: Applied
    path: EditedPath
    life: str
    marked: bool = True


def marks_of(
    name: str,
    here: SentRequestHere,
    prompts: CachePrompts,
    tree: Tree,
    rules: CacheRules,
    held: DeepestCached,
    tokens: Callable[[int], int],
    known: KnownEnds | None = None,
) -> tuple[list[Mark], bool]:
    """The markers of a request by the strategy called `name`, and whether only they are cached (OpenAI's explicit
    breakpoints). `held`, `tokens` and `known` are as `PlacementRequest` wants them."""
    strategy = strategy_of(name)
    if strategy is not None:
        if not rules.mechanism.writes_at_markers:
            return [], False
        asked = PlacementRequest(tree, here.head, rules, held, tokens, known)
        return [(node, life, 0) for node, life in strategy.place(asked)], False
    own = prompts.markers(here.call)
    marks: list[Mark] = []
    if own is None:
        marks = _inferred(here, tree, rules)
    else:
        had = {(mark.item, RAW): mark.life for mark in own.valid if not mark.ends}
        fixed = markers_under_edits(here.applied, had)
        marks = [(here.path.standing(here.applied, edge), life, 0) for edge, life in fixed.items()]
        for mark in own.valid:
            node = here.head if mark.ends == 1 else message_before(tree, here.head)
            if mark.ends and node != ROOT:
                marks.append((node, mark.life, mark.ends))
    if name in LIVES and rules.mechanism.writes_at_markers:
        marks = [(node, rules.seconds(name), ends) for node, _, ends in marks]
    return marks, own.explicit if own is not None else False


def _inferred(here: SentRequestHere, tree: Tree, rules: CacheRules) -> list[Mark]:
    """As clients do whose markers are not on record: at the ends of the last messages."""
    if not here.marked or not rules.mechanism.writes_at_markers:
        return []
    ends = [here.head]
    while len(ends) < rules.marked:
        ends.append(message_before(tree, ends[-1]))
    lasts = rules.seconds(here.life)
    return [(node, lasts, n) for n, node in reversed(list(enumerate(ends, 1))) if node != ROOT]
