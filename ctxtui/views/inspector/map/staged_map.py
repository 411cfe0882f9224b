"""The map of a context with staged edits, and the end of the cached prefix.

The raw context is the one before edits. Only its edited stretches are walked; the blocks between them are shifted by
the tokens that were added or removed before them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from math import inf
from operator import itemgetter
from typing import Final

from ctxtui.core.tree import ROOT
from ctxtui.views.inspector.map.context_map import ContextMap, map_extent
from ctxtui.views.model.fates import Step
from ctxtui.views.model.staging import Staging
from ctxtui.views.text.signs import NOT_RECORDED

_Stretch = tuple[int, float, float, int | None]
"""Raw position and staged token where a stretch begins, its shift in tokens, and the category of its one block (None:
raw context)."""
_POSITION: Final = itemgetter(0)
_TOKEN: Final = itemgetter(1)
NEARBY_BLOCKS: Final = 150


def staged_map(staging: Staging, count: int, cursor: int | None = None) -> ContextMap:
    """The map in `count` pixels; `cursor` is the node under the cursor."""
    scene = staging.scene
    extent = max(map_extent(scene), float(max(staging.without, staging.after)))
    if not staging.counted:
        return ContextMap(shown=(None,) * count, extent=extent)
    walk = _Walk(staging)
    total, stretch = float(staging.after), walk.stretch
    pixels = [(pixel + 0.5) * extent / count / stretch for pixel in range(count)]
    shown: list[int | None] = [*walk.categories(pixels)]
    shown += [None] * (count - len(shown))
    break_position = staging.breaks_at
    broken = None if break_position is None else walk.start(break_position) * stretch
    cached = min(staging.cached, total) if staging.breakage is None else min(staging.breakage.still_read, total)
    segments = (("read", float(cached)), ("write", float(max(0, total - cached))))
    set_breakpoints = tuple(
        walk.end(position) * stretch for position, edit in staging.applied.marks.items() if edit.params.get("on", True)
    )
    return ContextMap(
        shown=tuple(shown),
        extent=extent,
        segments=segments,
        cursor_at=None if (here := walk.middle(cursor)) is None else here * stretch,
        set_breakpoints=set_breakpoints,
        break_at=broken,
    )


def node_at(staging: Staging, token: float) -> int | None:
    """Node of the block at `token` of the staged map; at an insert, of the block after it.

    ``ROOT`` for unrecorded tokens; None after the context, or while it is not counted.
    """
    walk = _Walk(staging) if staging.counted else None
    return walk.node_at(token / walk.stretch) if walk is not None else None


class _Walk:
    """Translates between raw positions and tokens of the context under edits."""

    def __init__(self, staging: Staging) -> None:
        self._staging = staging
        self._nodes = staging.applied.context.nodes
        self._read = staging.scene.running.read_along(staging.head, self._nodes)
        """Raw tokens up to and including each block, without unrecorded ones."""
        self._stretches: list[_Stretch] = []
        self.total = self._raw_tokens_before(len(self._nodes)) + self._build_stretches()

    @property
    def stretch(self) -> float:
        """Factor from tokens as ctxtui counts them to the provider's expected count."""
        return float(self._staging.after) / self.total if self.total and self._staging.after else 1.0

    def _raw_tokens_before(self, at: int) -> float:
        last = min(at, len(self._read)) - 1
        return float(self._staging.scene.missing + (self._read[last] if last >= 0 else 0))

    def _build_stretches(self) -> float:
        """Build the stretches; return the final shift."""
        staging, read, missing = self._staging, self._read, self._staging.scene.missing
        stretches, done, shift = self._stretches, 0, 0.0
        steps = staging.computed_fates.steps
        if staging.inserted:
            news = (Step(new.at, -(new.tokens or 0), new.category, 0) for new in staging.inserted)
            steps = sorted((*news, *steps), key=lambda step: (step.position, step.blocks))
        for at, freed, category, blocks in steps:
            if at > done:
                stretches.append((done, missing + (read[done - 1] if done else 0) + shift, shift, None))
            if category is not None:
                stretches.append((at, missing + (read[at - 1] if at else 0) + shift, shift, category))
            shift -= freed
            done = at + blocks
        if done < len(self._nodes):
            stretches.append((done, missing + (read[done - 1] if done else 0) + shift, shift, None))
        return shift

    def categories(self, tokens: Iterable[float]) -> list[int]:
        nodes, read, total, categories = self._nodes, self._read, self.total, list[int]()
        missing, category_of = self._staging.scene.missing, self._staging.scene.running.category
        stretches, number = self._stretches, 0
        # Unrecorded tokens come before the first stretch.
        at, category, shift, until = 0, None, inf, stretches[0][1] if stretches else inf
        last, size = len(nodes) - 1, len(read)
        for token in tokens:
            if token >= total:
                break
            while token >= until:
                at, _, shift, category = stretches[number]
                number += 1
                until = stretches[number][1] if number < len(stretches) else inf
            if category is not None:
                categories.append(category)
            elif token - shift < missing:
                categories.append(NOT_RECORDED)
            else:
                raw, near = token - shift - missing, at + NEARBY_BLOCKS
                # The next pixel is usually a few blocks further on, so a near range is searched first.
                at = bisect_right(read, raw, at, near if near < size and read[near] > raw else size)
                categories.append(category_of(nodes[min(at, last)]))
        return categories

    def node_at(self, token: float) -> int | None:
        """Node of the block at the staged `token`; see the function of this name."""
        if not 0 <= token < self.total:
            return None
        index = bisect_right(self._stretches, token, key=_TOKEN) - 1
        if index < 0:
            return ROOT
        at, _, shift, category = self._stretches[index]
        raw = token - shift - self._staging.scene.missing
        if category is None and raw < 0:
            return ROOT
        position = at if category is not None else bisect_right(self._read, raw, at)
        return self._nodes[min(position, len(self._nodes) - 1)]

    def _shift_at(self, at: int) -> float:
        index = bisect_right(self._stretches, at, key=_POSITION) - 1
        return self._stretches[index][2] if index >= 0 else 0.0

    def start(self, at: int) -> float:
        """The staged token where raw position `at`, or an insert there, begins."""
        index = bisect_left(self._stretches, at, key=_POSITION)
        stretch = self._stretches[index : index + 1]
        return stretch[0][1] if stretch and stretch[0][0] == at else self._raw_tokens_before(at) + self._shift_at(at)

    def end(self, at: int) -> float:
        return self._raw_tokens_before(at + 1) + self._shift_at(at) if at < len(self._nodes) else self.total

    def middle(self, node: int | None) -> float | None:
        """The staged token at the middle of `node`'s block; None if it is not in the context."""
        if not node:
            return None
        at = self._staging.position(node)
        if at is None:
            return None
        return (self._raw_tokens_before(at) + self._raw_tokens_before(at + 1)) / 2 + self._shift_at(at)
