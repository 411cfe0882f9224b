"""The map pane: the shown context in prompt order, sampled pixel by pixel, with its cache track and scale."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from msgspec import Struct

from ctxtui.core.tree import ROOT
from ctxtui.views.inspector.map import raster
from ctxtui.views.model.call_charge import Charge
from ctxtui.views.model.scene import Scene
from ctxtui.views.text import bars, scale
from ctxtui.views.text.signs import NOT_RECORDED
from ctxtui.views.text.span import Span, Spans


class ContextMap(Struct, frozen=True, kw_only=True):
    """What the map draws: `shown` is the category at each pixel, `extent` the tokens that all pixels stand for,
    `segments` and `marks` the track, `here` the token of the block under the cursor. With edits staged, `own` are the
    places of their breakpoints and `break_at` is the token where the prefix ends. `limit` says which limit is in
    force and how that is known."""

    shown: tuple[int | None, ...]
    extent: float
    segments: tuple[tuple[str, float], ...] = ()
    marks: tuple[float, ...] = ()
    here: float | None = None
    own: tuple[float, ...] = ()
    break_at: float | None = None
    limit: str = ""


def extent_of(scene: Scene) -> float:
    """Tokens that the map stands for: the usable limit, or the context where that is larger; the map grows to the
    right through a session."""
    return float(max(scene.limits.usable, scene.figures.context_tokens, 1))


def context_map(
    scene: Scene, path: Sequence[int], charge: Charge | None, count: int, cursor: int | None = None
) -> ContextMap:
    """The map of the shown context, whose nodes are `path`, in `count` pixels; `cursor` is the node under the
    cursor."""
    if not scene.counted:
        return ContextMap(shown=(None,) * count, extent=extent_of(scene), limit=bars.limit_short(scene.limits))
    extent, stretch = extent_of(scene), scene.stretch
    total, missing, read = scene.position(scene.head), scene.missing, scene.running.token_reader(scene.head)
    shown, at = list[int | None](), 0
    for pixel in range(count):
        token = (pixel + 0.5) * extent / count / stretch
        if token >= total:
            break
        if token < missing:
            shown.append(NOT_RECORDED)
            continue
        at = bisect_right(path, token - missing, lo=at, key=read)
        shown.append(scene.running.category(path[min(at, len(path) - 1)]))
    shown += [None] * (count - len(shown))
    marks: tuple[float, ...] = ()
    if charge:
        marks = tuple(scene.position(node) * stretch for node in (charge.read_node, charge.write_node) if node != ROOT)
    segments = tuple((state, tokens * stretch) for state, tokens in charge.segments()) if charge else ()
    return ContextMap(
        shown=tuple(shown),
        extent=extent,
        segments=segments,
        marks=() if charge and charge.recorded else marks,
        own=marks if charge and charge.recorded else (),
        here=here_of(scene, cursor),
        limit=bars.limit_short(scene.limits),
    )


def here_of(scene: Scene, cursor: int | None) -> float | None:
    """The token at the middle of the block under the cursor, None where that is not part of the context."""
    tree = scene.session.tree
    if cursor is None or not scene.counted or not tree.holds(scene.head, cursor):
        return None
    if cursor == ROOT:
        return scene.missing / 2 * scene.stretch
    return (scene.position(cursor) + scene.position(tree[cursor].parent)) / 2 * scene.stretch


def node_at(scene: Scene, path: Sequence[int], token: float) -> int | None:
    """The node whose block the map shows at `token`; ``ROOT`` for what is not recorded, None behind the context."""
    if not scene.counted:
        return None
    token /= scene.stretch
    if not 0 <= token < scene.position(scene.head):
        return None
    if token < scene.missing:
        return ROOT
    return path[min(bisect_right(path, token, key=scene.position), len(path) - 1)]


def lines(
    what: ContextMap, width: int, height: int, *, scaled: bool, colour: bool = True, letters: bool = False
) -> list[Spans]:
    """The pane's body: `height` lines of raster, the track, and with `scaled` the line of figures."""
    side = Span(" ")
    body = raster.rows_of(what.shown, width, height, colour=colour, letters=letters)
    marks = [*((token, True) for token in what.marks), *((token, False) for token in what.own)]
    out: list[Spans] = [[side, *line] for line in body]
    out.append([side, *raster.track(what.segments, width, what.extent, marks, what.break_at)])
    if scaled:
        out.append([side, *scale.line(width, what.extent, what.here)])
    return out
