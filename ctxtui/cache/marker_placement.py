"""Strategies for cache markers: each chooses the blocks of a context to mark (facts §2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from ctxtui.cache.markers import is_markable
from ctxtui.cache.rules import CacheRules
from ctxtui.core.category import INDEX
from ctxtui.core.tree import ROOT, Tree

Placement = list[tuple[int, float]]
"""Nodes with the lifetimes of their markers in seconds, in prompt order."""


DeepestCached = Callable[[float], int]
"""See `PlacementRequest.deepest_cached`."""


class KnownEnds:
    """Cache of `static_end` and `memory_end` for successive contexts."""

    def __init__(self) -> None:
        self.static: dict[int, int] = {}
        self.memory: dict[int, int] = {}


class PlacementRequest(NamedTuple):
    """A request to place markers in: the context `head` in `tree`, cached by `rules`.

    - `deepest_cached`: returns the deepest node on its path with a live cache entry that was written for at least the
      given seconds (`ROOT`: none).
    - `tokens`: returns the tokens of the context that ends at a node.
    """

    tree: Tree
    head: int
    rules: CacheRules
    deepest_cached: DeepestCached = lambda life: ROOT
    tokens: Callable[[int], int] = lambda node: 0
    known_ends: KnownEnds | None = None


Place = Callable[[PlacementRequest], Placement]

_SHORT_LIFE: Final = "5m"
_LONG_LIFE: Final = "1h"
"""Names of lifetimes; if a provider does not have one of them, its default is used."""
PAUSE_SHARE: Final = 0.03
"""Share of recorded calls followed by a pause that only the long lifetime outlasts."""
_MEMORY: Final = (INDEX["memory"], INDEX["summary"])


class Strategy(NamedTuple):
    """A named way to place markers; the description completes "a marker at ..."."""

    name: str
    description: str
    place: Place


def mark_nothing(request: PlacementRequest) -> Placement:
    return []


def mark_tail(request: PlacementRequest) -> Placement:
    return _place_markers(request.rules, [(markable_at(request.tree, request.head), _SHORT_LIFE)])


def mark_moving_tail(request: PlacementRequest) -> Placement:
    """Mark the ends of the last two messages: a long last one must not hide the entry before it."""
    return _place_markers(
        request.rules,
        [
            (messages_back(request.tree, request.head, 1), _SHORT_LIFE),
            (markable_at(request.tree, request.head), _SHORT_LIFE),
        ],
    )


def mark_static_prefix(request: PlacementRequest) -> Placement:
    return _place_markers(request.rules, [(static_end(request.tree, request.head, request.known_ends), _SHORT_LIFE)])


def mark_static_and_tail(request: PlacementRequest) -> Placement:
    end, last = static_end(request.tree, request.head, request.known_ends), markable_at(request.tree, request.head)
    return _place_markers(request.rules, [(end, _SHORT_LIFE), (last, _SHORT_LIFE)])


def mark_memory_aware(request: PlacementRequest) -> Placement:
    tree, head, known_ends = request.tree, request.head, request.known_ends
    ends = static_end(tree, head, known_ends), memory_end(tree, head, known_ends), markable_at(tree, head)
    return _place_markers(request.rules, [(end, _SHORT_LIFE) for end in ends])


def mark_anchored(request: PlacementRequest) -> Placement:
    """Mark the system prompt's end, the last block, and an anchor for an hour.

    The anchor is a marker just after the cached prefix, so that only few tokens are written at the higher price of an
    hour; if nothing is cached, there is no anchor.
    """
    # The anchor moves if the expected saving (the chance of a pause, times the tokens that would be written again after
    # it) is more than the extra price of writing to it for an hour.
    tree, rules, tokens = request.tree, request.rules, request.tokens
    end, last = static_end(tree, request.head, request.known_ends), markable_at(tree, request.head)
    hit = request.deepest_cached(0.0)
    if hit == ROOT:
        return _place_markers(rules, [(end, _SHORT_LIFE), (last, _SHORT_LIFE)])
    anchor = request.deepest_cached(rules.seconds(_LONG_LIFE))
    first = first_after(tree, request.head, hit)
    again = rules.writes.get(_SHORT_LIFE, 1.0) - rules.read
    dearer = rules.writes.get(_LONG_LIFE, 1.0) - rules.writes.get(_SHORT_LIFE, 1.0)
    guarded = tokens(anchor) if anchor != ROOT else 0
    if first != ROOT and PAUSE_SHARE * again * (tokens(hit) - guarded) > dearer * (tokens(first) - tokens(hit)):
        anchor = first
    # Markers before the anchor must have its lifetime; existing entries keep their own.
    return _place_markers(
        rules, [(end, _LONG_LIFE if anchor != ROOT else _SHORT_LIFE), (anchor, _LONG_LIFE), (last, _SHORT_LIFE)]
    )


def mark_back(messages: int) -> Place:
    """A strategy with one marker: before the final `messages` messages."""

    def place(request: PlacementRequest) -> Placement:
        return _place_markers(request.rules, [(messages_back(request.tree, request.head, messages), _SHORT_LIFE)])

    return place


STRATEGIES: Final = (
    Strategy("none", "no markers", mark_nothing),
    Strategy("automatic", "the last block", mark_tail),
    Strategy("static prefix", "after the system prompt", mark_static_prefix),
    Strategy("moving tail", "the ends of the last two messages", mark_moving_tail),
    Strategy("static + tail", "after the system prompt and the last block", mark_static_and_tail),
    Strategy("2 messages back", "two messages before the end", mark_back(2)),
    Strategy("memory-aware", "after system prompt and memory, and the last block", mark_memory_aware),
    Strategy(
        "anchored", "five minutes for the last block, an hour up to the block after what is cached", mark_anchored
    ),
)
RECOMMENDED: Final = next(strategy for strategy in STRATEGIES if strategy.name == "anchored")
PREFIX_STRATEGIES: Final = ("static prefix", "static + tail")
"""Strategies that need a system prompt or tools in the context."""


def markable_at(tree: Tree, node: int) -> int:
    """`node` if it may have a marker, else the nearest node before it that may (`ROOT`: none)."""
    while node != ROOT and not is_markable(tree[node].block):
        node = tree[node].parent
    return node


def static_end(tree: Tree, head: int, known_ends: KnownEnds | None = None) -> int:
    """Last block before the messages (`ROOT`: none)."""
    ends = known_ends.static if known_ends is not None else {}
    first = 0
    while head != ROOT and head not in ends and tree[head].place.section == "messages":
        # Step by turns: a long context has many blocks in each.
        start = tree[head].turn_start
        first = first or start
        head = tree[start if start != ROOT else head].parent
    end = ends.get(head, head)
    if first:
        ends[tree[first].parent] = end
    return end


def memory_end(tree: Tree, head: int, known_ends: KnownEnds | None = None) -> int:
    """Last block of memory or summary, or the nearest before it that may have a marker."""
    ends = known_ends.memory if known_ends is not None else {}
    node = head
    while node != ROOT and node not in ends and tree[node].category not in _MEMORY:
        node = tree[node].parent
    end = ends[head] = ends[node] if node in ends else markable_at(tree, node)
    return end


def messages_back(tree: Tree, head: int, messages: int) -> int:
    """Last markable block before the final `messages` messages (`ROOT`: too few)."""
    last = tree[head].message - messages
    while head != ROOT and tree[head].message > last:
        head = tree[head].parent
    return markable_at(tree, head) if last > 0 else ROOT


def first_after(tree: Tree, head: int, node: int) -> int:
    """First block of context `head` after `node` that may have a marker (`ROOT`: none)."""
    first = ROOT
    while head not in (node, ROOT):
        first = head if is_markable(tree[head].block) else first
        head = tree[head].parent
    return first


def _place_markers(rules: CacheRules, nodes: Sequence[tuple[int, str]]) -> Placement:
    placement: dict[int, float] = {}
    for node, life in nodes:
        if node != ROOT:
            placement.pop(node, None)
            placement[node] = rules.lives.get(life) or rules.seconds(life)
    # In prompt order: on one path a later node has a larger id.
    return sorted(placement.items(), key=lambda mark: mark[0])
