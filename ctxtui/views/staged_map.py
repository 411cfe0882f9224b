"""The map of a context with edits staged: what would be sent, in prompt order, and where the prefix ends."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

from ctxtui.core.edit import BREAKPOINT
from ctxtui.views.context_map import ContextMap, extent_of
from ctxtui.views.signs import NOT_RECORDED
from ctxtui.views.staging import Staging


def staged_map(staging: Staging, count: int, cursor: int | None = None) -> ContextMap:
    """The map in `count` pixels; `cursor` is the node under the cursor."""
    scene = staging.scene
    extent = max(extent_of(scene), float(staging.before))
    if not staging.counted:
        return ContextMap((None,) * count, extent)
    parts, here, own = _parts(staging, cursor)
    ends = list(accumulate(tokens for _, tokens in parts))
    total = ends[-1] if ends else 0
    shown: list[int | None] = []
    for pixel in range(count):
        token = (pixel + 0.5) * extent / count
        shown.append(parts[bisect_right(ends, token)][0] if token < total else None)
    broken = staging.break_token
    cached = min(staging.cached, total) if broken is None else min(staging.cached, broken)
    segments = (("read", float(cached)), ("write", float(max(0, total - cached))))
    return ContextMap(tuple(shown), extent, segments, (), here, own, None if broken is None else float(broken))


def _parts(staging: Staging, cursor: int | None) -> tuple[list[tuple[int, int]], float | None, tuple[float, ...]]:
    """(category, tokens) of every block that would be sent, the token of the cursor's, those of the breakpoints."""
    scene, applied = staging.scene, staging.applied
    tree, running, nodes = scene.session.tree, scene.running, applied.context.nodes
    parts: list[tuple[int, int]] = [(NOT_RECORDED, scene.missing)] if scene.missing else []
    news = list(staging.news)[::-1]
    marked = {at for at, edit in applied.marks.items() if edit.kind == BREAKPOINT and edit.given.get("on", True)}
    at_token, here, own = scene.missing, None, []
    for at, node in enumerate(nodes):
        while news and news[-1].at <= at:
            new = news.pop()
            parts.append((new.category, new.tokens or 0))
            at_token += new.tokens or 0
        fate = staging.fate(node)
        before = running.read(staging.head, node) - running.read(staging.head, tree[node].parent)
        tokens = before if fate is None else (fate.after or 0)
        if node == cursor:
            here = at_token + tokens / 2
        if tokens:
            parts.append((running.category(node), tokens))
        at_token += tokens
        if at in marked:
            own.append(float(at_token))
    parts += [(new.category, new.tokens or 0) for new in reversed(news)]
    return parts, here, tuple(own)
