"""The map of a context with edits staged: what would be sent, in prompt order, and where the prefix ends.

Only what edits change is walked; between changes the raw context stands, shifted by what came and went before it.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from ctxtui.core.tree import ROOT
from ctxtui.views.context_map import ContextMap, extent_of
from ctxtui.views.signs import NOT_RECORDED
from ctxtui.views.staging import Staging


class _Stretch(NamedTuple):
    """From the staged token `start` on: one block of `category`, or (None) the raw context, `shift` tokens earlier."""

    start: float
    category: int | None
    shift: float = 0.0


def staged_map(staging: Staging, count: int, cursor: int | None = None) -> ContextMap:
    """The map in `count` pixels; `cursor` is the node under the cursor."""
    scene = staging.scene
    extent = max(extent_of(scene), float(staging.before))
    if not staging.counted:
        return ContextMap((None,) * count, extent)
    found = _Walk(staging)
    total = found.total
    shown: list[int | None] = []
    for pixel in range(count):
        token = (pixel + 0.5) * extent / count
        if token >= total:
            break
        shown.append(found.category(token))
    shown += [None] * (count - len(shown))
    broken = staging.break_token
    cached = min(staging.cached, total) if broken is None else min(staging.cached, broken)
    segments = (("read", float(cached)), ("write", float(max(0, total - cached))))
    own = tuple(found.end(at) for at, edit in staging.applied.marks.items() if edit.given.get("on", True))
    break_at = None if broken is None else float(broken)
    return ContextMap(tuple(shown), extent, segments, (), found.middle(cursor), own, break_at)


class _Walk:
    """The staged context as stretches, in prompt order."""

    def __init__(self, staging: Staging) -> None:
        self._staging = staging
        self._nodes = staging.applied.context.nodes
        self._tree = staging.scene.session.tree
        self._stretches: list[_Stretch] = []
        self._at: list[int] = []
        """The raw position with which each stretch begins."""
        self._shift = 0.0
        self._enter()
        self.total = self.position(staging.head) + self._shift
        self._starts = [one.start for one in self._stretches]

    def position(self, node: int) -> float:
        """Raw tokens up to and with the block of `node`."""
        scene = self._staging.scene
        return scene.missing + scene.running.read(self._staging.head, node)

    def _before(self, at: int) -> float:
        if at >= len(self._nodes):
            return self.position(self._staging.head)
        up = self._tree[self._nodes[at]].parent
        return self.position(up) if up != ROOT else float(self._staging.scene.missing)

    def _put(self, at: int, start: float, category: int | None) -> None:
        self._stretches.append(_Stretch(start, category, self._shift))
        self._at.append(at)

    def _enter(self) -> None:
        staging, changes = self._staging, self._staging.applied.changes
        news = list(staging.news)[::-1]
        done = 0
        for at in sorted({*changes, *(new.at for new in news)}):
            if at > done:
                self._put(done, self._before(done) + self._shift, None)
            while news and news[-1].at <= at:
                new = news.pop()
                self._put(at, self._before(at) + self._shift, new.category)
                self._shift += new.tokens or 0
            done = at
            change = changes.get(at)
            if change is not None:
                fate = staging.fates[change.node]
                start = self._before(at) + self._shift
                if fate.after:
                    self._put(at, start, self._tree[change.node].category)
                self._shift += (fate.after or 0) - (self.position(change.node) - self._before(at))
                done = at + 1
        if done < len(self._nodes):
            self._put(done, self._before(done) + self._shift, None)

    def category(self, token: float) -> int:
        """The category that stands at a staged token."""
        found = bisect_right(self._starts, token) - 1
        if found < 0:
            return NOT_RECORDED
        stretch = self._stretches[found]
        if stretch.category is not None:
            return stretch.category
        raw = token - stretch.shift
        if raw < self._staging.scene.missing:
            return NOT_RECORDED
        at = bisect_right(self._nodes, raw, lo=self._at[found], key=self.position)
        return self._tree[self._nodes[min(at, len(self._nodes) - 1)]].category

    def _shifted(self, at: int) -> float:
        found = bisect_right(self._at, at) - 1
        return self._stretches[found].shift if found >= 0 else 0.0

    def end(self, at: int) -> float:
        """The staged token just behind the raw position `at`."""
        return self.position(self._nodes[at]) + self._shifted(at) if at < len(self._nodes) else self.total

    def middle(self, node: int | None) -> float | None:
        """The staged token at the middle of the block of `node`; None where it is not in the context."""
        if not node:
            return None
        at = self._tree[node].depth - 1
        if not 0 <= at < len(self._nodes) or self._nodes[at] != node:
            return None
        return (self._before(at) + self.position(node)) / 2 + self._shifted(at)
