"""How a call was charged, laid over its blocks: what was read from the cache, written to it, or neither."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final, NamedTuple

from ctxtui.core.tree import ROOT
from ctxtui.curation.context import marker_lifetimes
from ctxtui.views.model.scene import Scene
from ctxtui.wire.request import Request

STATES: Final = ("read", "write", "fresh")


class Charge(NamedTuple):
    """Where the report's parts end in the context shown: `ends` in our tokens, `depths` as blocks from the start.

    `read_node` and `write_node` are the blocks with which the cached prefix and the written stretch end (``ROOT`` for
    none): the cache's breakpoints, where the request is on record (`recorded`), else where the report lets them be.
    """

    ends: tuple[float, float, float]
    depths: tuple[int, int]
    read_node: int
    write_node: int
    recorded: bool = False

    def state(self, depth: int) -> str:
        """The state of the block at `depth` of the context."""
        return STATES[(depth > self.depths[0]) + (depth > self.depths[1])]

    def state_at(self, token: float) -> str:
        """The state at a token of the context."""
        return next((state for state, end in zip(STATES, self.ends, strict=True) if token < end), STATES[-1])

    def segments(self) -> list[tuple[str, float]]:
        """(state, our tokens) in prompt order, as the map's track takes them."""
        parts, start = [], 0.0
        for state, end in zip(STATES, self.ends, strict=True):
            parts.append((state, end - start))
            start = end
        return parts


def charge(scene: Scene, path: Sequence[int]) -> Charge | None:
    """The charge of the call shown, whose context has the nodes of `path`; None where its report or our counts are
    lacking, or where the report tells of no cache.

    The report is in the provider's tokens, rows in ours: its parts are scaled to our sum, so that a boundary stands at
    the same share of the context, but where the request is on record: then it is the breakpoint next to that. A block
    that a boundary cuts belongs to the part that holds most of it.
    """
    usage = scene.call.usage
    if usage is None or not usage.has_cache or not usage.input or not scene.counted:
        return None
    total = scene.position(scene.head)
    scale = total / usage.input
    ends = (usage.cache_read * scale, (usage.cache_read + usage.cache_write) * scale, float(total))
    read, write = (_last_within(scene, path, end) for end in ends[:2])
    marked = _marked(scene, path)
    if marked:
        read, write = (min(marked, key=lambda at: abs(scene.position(path[at - 1]) - end)) for end in ends[:2])
        read = read if usage.cache_read else 0
        write = max(read, write) if usage.cache_write else read
        told, written = (float(scene.position(path[at - 1])) if at else 0.0 for at in (read, write))
        ends = told, written, ends[2]
    return Charge(
        ends,
        (read, write),
        path[read - 1] if usage.cache_read and read else ROOT,
        path[write - 1] if usage.cache_write and write else ROOT,
        bool(marked),
    )


def _marked(scene: Scene, path: Sequence[int]) -> list[int]:
    """How many blocks end at each breakpoint that the call shown, or the one before it, has on record: what is read was
    written up to one of these."""
    tree, found = scene.session.tree, set[int]()
    for call in scene.calls[max(0, scene.index - 1) : scene.index + 1]:
        if call.skeleton is None:
            continue
        shared = tree[tree.common(scene.head, call.sent_head)].depth
        request = Request((), call.skeleton)
        found.update(at + 1 for at in marker_lifetimes(request) if at < shared)
        if request.params.get("cache_control") is not None and call.sent_head != ROOT:
            found.add(min(shared, tree[call.sent_head].depth))
    return sorted(at for at in found if 0 < at <= len(path))


class KnownCharge:
    """The charge of the call shown, worked out anew where anything that it is made of is another one: what comes behind
    the call is not."""

    def __init__(self) -> None:
        self._known: tuple[object, Charge | None] = None, None

    def of(self, scene: Scene, path: Sequence[int]) -> Charge | None:
        """As `charge`."""
        if not scene.counted:
            # The end of a long recording has no book yet.
            return None
        call, running, contexts = scene.call, scene.running, scene.book.contexts
        read = contexts.read_of(call), contexts.absences_at(scene.head), running, running.version
        made_of = call, scene.figures, read
        if self._known[0] != made_of:
            self._known = made_of, charge(scene, path)
        return self._known[1]


def _last_within(scene: Scene, path: Sequence[int], end: float) -> int:
    """How many blocks of `path` lie more than half before token `end`."""
    tree, running = scene.session.tree, scene.running

    def middle(node: int) -> float:
        return (scene.position(node) + scene.position(tree[node].parent)) / 2 if node != ROOT else 0.0

    count = bisect_right(path, end, key=middle)
    # Blocks that are not read take no room: the boundary belongs to the last one that does.
    while count and running.read_tokens(scene.head, path[count - 1]) == running.read_tokens(
        scene.head, tree[path[count - 1]].parent
    ):
        count -= 1
    return count
