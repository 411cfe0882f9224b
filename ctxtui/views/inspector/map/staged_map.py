"""The map of a context with edits staged: what would be sent, in prompt order, and where the prefix ends.

Only what edits change is walked; between changes the raw context stands, shifted by what came and went before it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from math import inf
from operator import itemgetter
from typing import Final

from ctxtui.views.inspector.map.context_map import ContextMap, extent_of
from ctxtui.views.model.fates import Step
from ctxtui.views.model.staging import Staging
from ctxtui.views.text.signs import NOT_RECORDED

_Stretch = tuple[int, float, float, int | None]
"""The raw position with which a stretch begins, the staged token at which it does, by how many tokens that stood
earlier (negative) or later, and the category of its one block; None where the raw context stands."""
_POSITION: Final = itemgetter(0)
_NEAR: Final = 150
"""Blocks within which the next pixel is looked for first."""


def staged_map(staging: Staging, count: int, cursor: int | None = None) -> ContextMap:
    """The map in `count` pixels; `cursor` is the node under the cursor."""
    scene = staging.scene
    extent = max(extent_of(scene), float(max(staging.without, staging.after)))
    if not staging.counted:
        return ContextMap(shown=(None,) * count, extent=extent)
    found = _Walk(staging)
    # As long as the provider will count it.
    total = float(staging.after)
    stretch = total / found.total if found.total and total else 1.0
    pixels = [(pixel + 0.5) * extent / count / stretch for pixel in range(count)]
    shown: list[int | None] = [*found.categories(pixels)]
    shown += [None] * (count - len(shown))
    at = staging.breaks_at
    broken = None if at is None else found.start(at) * stretch
    cached = min(staging.cached, total) if staging.breakage is None else min(staging.breakage.still_read, total)
    segments = (("read", float(cached)), ("write", float(max(0, total - cached))))
    own = tuple(found.end(at) * stretch for at, edit in staging.applied.marks.items() if edit.params.get("on", True))
    return ContextMap(
        shown=tuple(shown),
        extent=extent,
        segments=segments,
        marks=(),
        here=None if (here := found.middle(cursor)) is None else here * stretch,
        own=own,
        break_at=broken,
    )


class _Walk:
    """The staged context as stretches, in prompt order."""

    def __init__(self, staging: Staging) -> None:
        self._staging = staging
        self._nodes = staging.applied.context.nodes
        self._read = staging.scene.running.read_along(staging.head, self._nodes)
        """Raw tokens up to and with each block, less what is not recorded."""
        self._stretches: list[_Stretch] = []
        self.total = self._before(len(self._nodes)) + self._enter()

    def _before(self, at: int) -> float:
        """Raw tokens before the raw position `at`."""
        last = min(at, len(self._read)) - 1
        return float(self._staging.scene.missing + (self._read[last] if last >= 0 else 0))

    def _enter(self) -> float:
        """Walk along what is changed; the shift at the end."""
        staging, read, missing = self._staging, self._read, self._staging.scene.missing
        found, done, shift = self._stretches, 0, 0.0
        steps = staging.found.steps
        if staging.news:
            news = (Step(new.at, -(new.tokens or 0), new.category, 0) for new in staging.news)
            steps = sorted((*news, *steps), key=lambda step: (step.position, step.blocks))
        for at, freed, category, blocks in steps:
            if at > done:
                found.append((done, missing + (read[done - 1] if done else 0) + shift, shift, None))
            if category is not None:
                found.append((at, missing + (read[at - 1] if at else 0) + shift, shift, category))
            shift -= freed
            done = at + blocks
        if done < len(self._nodes):
            found.append((done, missing + (read[done - 1] if done else 0) + shift, shift, None))
        return shift

    def categories(self, tokens: Iterable[float]) -> list[int]:
        """The category that stands at each of some staged tokens, which must ascend; it ends with the context."""
        nodes, read, total, found = self._nodes, self._read, self.total, list[int]()
        missing, category_of = self._staging.scene.missing, self._staging.scene.running.category
        stretches, number = self._stretches, 0
        # Before the first stretch stands what is not recorded.
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
                found.append(category)
            elif token - shift < missing:
                found.append(NOT_RECORDED)
            else:
                raw, near = token - shift - missing, at + _NEAR
                # The next pixel is most often a few blocks on: what lies far away need not be looked at.
                at = bisect_right(read, raw, at, near if near < size and read[near] > raw else size)
                found.append(category_of(nodes[min(at, last)]))
        return found

    def _shifted(self, at: int) -> float:
        found = bisect_right(self._stretches, at, key=_POSITION) - 1
        return self._stretches[found][2] if found >= 0 else 0.0

    def start(self, at: int) -> float:
        """The staged token at which the raw position `at` begins, or what is put in there."""
        found = bisect_left(self._stretches, at, key=_POSITION)
        there = self._stretches[found : found + 1]
        return there[0][1] if there and there[0][0] == at else self._before(at)

    def end(self, at: int) -> float:
        """The staged token just behind the raw position `at`."""
        return self._before(at + 1) + self._shifted(at) if at < len(self._nodes) else self.total

    def middle(self, node: int | None) -> float | None:
        """The staged token at the middle of the block of `node`; None where it is not in the context."""
        if not node:
            return None
        at = self._staging.position(node)
        if at is None:
            return None
        return (self._before(at) + self._before(at + 1)) / 2 + self._shifted(at)
