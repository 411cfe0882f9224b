"""Maps a call's charge onto its blocks: read from the cache, written to it, or fresh."""

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
    """Ends of the report's parts in the context shown: where the tokens read and written end.

    - `ends`: in tokens as ctxtui counts them; `depths`: in blocks from the start.
    - `read_node`, `write_node`: the last blocks of the cached prefix and of the written part (``ROOT``: none). They are
      at cache breakpoints if some are `recorded`, else estimates from the report.
    """

    ends: tuple[float, float, float]
    depths: tuple[int, int]
    read_node: int
    write_node: int
    recorded: bool = False

    def state(self, depth: int) -> str:
        return STATES[(depth > self.depths[0]) + (depth > self.depths[1])]

    def state_at(self, token: float) -> str:
        return next((state for state, end in zip(STATES, self.ends, strict=True) if token < end), STATES[-1])

    def segments(self) -> list[tuple[str, float]]:
        """(state, tokens as ctxtui counts them) in prompt order, for the track below the map."""
        parts, start = [], 0.0
        for state, end in zip(STATES, self.ends, strict=True):
            parts.append((state, end - start))
            start = end
        return parts


def charge(scene: Scene, path: Sequence[int]) -> Charge | None:
    """The charge of the call shown, whose context has the nodes `path`.

    None if its report or ctxtui's counts are missing, or if the report has no cache figures. The report's parts are
    scaled so that they add up to ctxtui's count of the context. If breakpoints are recorded, each boundary is moved to
    the nearest one. A block cut by a boundary belongs to the part that has most of it.
    """
    usage = scene.call.usage
    if usage is None or not usage.has_cache or not usage.input or not scene.counted:
        return None
    total = scene.position(scene.head)
    scale = total / usage.input
    ends = (usage.cache_read * scale, (usage.cache_read + usage.cache_write) * scale, float(total))
    read, write = (_count_within(scene, path, end) for end in ends[:2])
    breakpoints = _recorded_breakpoints(scene, path)
    if breakpoints:
        read, write = (min(breakpoints, key=lambda at: abs(scene.position(path[at - 1]) - end)) for end in ends[:2])
        read = read if usage.cache_read else 0
        write = max(read, write) if usage.cache_write else read
        read_end, write_end = (float(scene.position(path[at - 1])) if at else 0.0 for at in (read, write))
        ends = read_end, write_end, ends[2]
    return Charge(
        ends,
        (read, write),
        path[read - 1] if usage.cache_read and read else ROOT,
        path[write - 1] if usage.cache_write and write else ROOT,
        bool(breakpoints),
    )


def _recorded_breakpoints(scene: Scene, path: Sequence[int]) -> list[int]:
    """Number of blocks before each recorded breakpoint of the call shown and of the one before."""
    tree, depths = scene.session.tree, set[int]()
    for call in scene.calls[max(0, scene.index - 1) : scene.index + 1]:
        if call.skeleton is None:
            continue
        shared = tree[tree.common(scene.head, call.sent_head)].depth
        request = Request((), call.skeleton)
        depths.update(at + 1 for at in marker_lifetimes(request) if at < shared)
        if request.params.get("cache_control") is not None and call.sent_head != ROOT:
            depths.add(min(shared, tree[call.sent_head].depth))
    return sorted(at for at in depths if 0 < at <= len(path))


class ChargeCache:
    """Caches the charge of the call shown until one of its inputs changes."""

    def __init__(self) -> None:
        self._cached: tuple[object, Charge | None] = None, None

    def get(self, scene: Scene, path: Sequence[int]) -> Charge | None:
        if not scene.counted:
            return None
        call, running, contexts = scene.call, scene.running, scene.book.contexts
        read = contexts.read_of(call), contexts.absences_at(scene.head), running, running.version
        inputs = call, scene.figures, read
        if self._cached[0] != inputs:
            self._cached = inputs, charge(scene, path)
        return self._cached[1]


def _count_within(scene: Scene, path: Sequence[int], end: float) -> int:
    """Number of blocks of `path` that are more than half before token `end`."""
    tree, running = scene.session.tree, scene.running

    def middle(node: int) -> float:
        return (scene.position(node) + scene.position(tree[node].parent)) / 2 if node != ROOT else 0.0

    count = bisect_right(path, end, key=middle)
    # Unread blocks have no size: the boundary belongs to the last block that has one.
    while count and running.read_tokens(scene.head, path[count - 1]) == running.read_tokens(
        scene.head, tree[path[count - 1]].parent
    ):
        count -= 1
    return count
