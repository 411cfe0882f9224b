"""Positions of a request's cache markers under a variant: the client's or a strategy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from ctxtui.analysis.cache.prompts import CachePrompts, last_message_ends, message_before
from ctxtui.analysis.lab.edited_path import EditedPath
from ctxtui.analysis.lab.variant import RECORDED
from ctxtui.cache.marker_placement import STRATEGIES, DeepestCached, KnownEnds, PlacementRequest, Strategy
from ctxtui.cache.rules import CacheRules
from ctxtui.core.call import Call
from ctxtui.core.tree import ROOT, Tree
from ctxtui.curation.apply.applied import RAW, Applied
from ctxtui.curation.apply.moved_markers import markers_under_edits

LIFETIMES: Final = ("5m", "1h")
"""Strategies that set the client's own markers, all with this lifetime."""

PlacedMarker = tuple[int, float, int]
"""A node, a lifetime in seconds, and `CacheMarker.ends`."""


def strategy_names() -> tuple[str, ...]:
    return (RECORDED, *LIFETIMES, *(spell_name(strategy.name) for strategy in STRATEGIES))


def spell_name(name: str) -> str:
    """A strategy's name as one word, for the command line."""
    return name.replace(" + ", "+").replace(" ", "-")


_BY_NAME: Final = {spell_name(strategy.name): strategy for strategy in reversed(STRATEGIES)}


def find_strategy(name: str) -> Strategy | None:
    """Find a strategy by name; None for the client's own markers."""
    return _BY_NAME.get(spell_name(name))


class VariantRequest(NamedTuple):
    """A request under a variant.

    - `call`: the recorded call; `head`: the context that is sent.
    - `applied`: the edits that produced it; `path`: the path that has its blocks.
    - `life`: the lifetime that the client writes; "": the default.
    - `marked`: whether the client sets markers at all, if none are recorded.
    """

    call: Call
    head: int
    applied: Applied
    path: EditedPath
    life: str
    marked: bool = True


def place_markers(
    name: str,
    variant_request: VariantRequest,
    prompts: CachePrompts,
    tree: Tree,
    rules: CacheRules,
    deepest_cached: DeepestCached,
    tokens: Callable[[int], int],
    known_ends: KnownEnds | None = None,
) -> tuple[list[PlacedMarker], bool]:
    """Markers of a request by the strategy called `name`.

    Also returns whether only prefixes up to a marker are cached (OpenAI). `deepest_cached`, `tokens` and `known_ends`
    are as in `PlacementRequest`.
    """
    strategy = find_strategy(name)
    if strategy is not None:
        if not rules.mechanism.writes_at_markers:
            return [], False
        request = PlacementRequest(tree, variant_request.head, rules, deepest_cached, tokens, known_ends)
        return [(node, life, 0) for node, life in strategy.place(request)], False
    recorded_markers = prompts.markers(variant_request.call)
    markers: list[PlacedMarker] = []
    if recorded_markers is None:
        markers = _inferred_markers(variant_request, tree, rules)
    else:
        lives = {(marker.item, RAW): marker.life for marker in recorded_markers.valid if not marker.ends}
        fixed = markers_under_edits(variant_request.applied, lives)
        markers = [
            (variant_request.path.node_at_edge(variant_request.applied, edge), life, 0) for edge, life in fixed.items()
        ]
        for marker in recorded_markers.valid:
            node = variant_request.head if marker.ends == 1 else message_before(tree, variant_request.head)
            if marker.ends and node != ROOT:
                markers.append((node, marker.life, marker.ends))
    if name in LIFETIMES and rules.mechanism.writes_at_markers:
        markers = [(node, rules.seconds(name), ends) for node, _, ends in markers]
    return markers, recorded_markers.explicit if recorded_markers is not None else False


def _inferred_markers(variant_request: VariantRequest, tree: Tree, rules: CacheRules) -> list[PlacedMarker]:
    """Markers at the ends of the last messages, for clients that do not record them."""
    if not variant_request.marked or not rules.mechanism.writes_at_markers:
        return []
    ends = last_message_ends(tree, variant_request.head, rules.marked)
    lifetime = rules.seconds(variant_request.life)
    return [(node, lifetime, len(ends) - n) for n, node in enumerate(ends) if node != ROOT]
