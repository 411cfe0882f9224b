"""The map pane: the context in prompt order as pixels, with cache track and scale."""

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
    """Content of the map.

    - `shown`: the category of each pixel; None after the context, or while it is not counted.
    - `extent`: tokens of all pixels.
    - `segments`: the cache track as (state, tokens).
    - `inferred_breakpoints`: positions, in tokens, of breakpoints set by the provider or inferred from the report.
    - `set_breakpoints`: positions, in tokens, of breakpoints that the request or a staged edit sets. Of a recorded
      call, only the ends of what it read and wrote.
    - `cursor_at`: the position, in tokens, of the middle of the block under the cursor.
    - `break_at`: the token from which the edited request differs from the cached one (None: no edits, or it does not).
    - `limit`: describes the window limit and its origin.
    """

    shown: tuple[int | None, ...]
    extent: float
    segments: tuple[tuple[str, float], ...] = ()
    inferred_breakpoints: tuple[float, ...] = ()
    cursor_at: float | None = None
    set_breakpoints: tuple[float, ...] = ()
    break_at: float | None = None
    limit: str = ""


def map_extent(scene: Scene) -> float:
    """Tokens represented by the map: the usable limit, or the context if that is larger."""
    return float(max(scene.limits.usable, scene.figures.context_tokens, 1))


def context_map(scene: Scene, path: Sequence[int], charge: Charge | None, count: int) -> ContextMap:
    """The map of the context shown (nodes `path`) in `count` pixels."""
    if not scene.counted:
        return ContextMap(shown=(None,) * count, extent=map_extent(scene), limit=bars.limit_short(scene.limits))
    extent, stretch = map_extent(scene), scene.stretch
    total, missing, read = scene.position(scene.head), scene.missing, scene.running.token_reader(scene.head)
    pixels, at = list[int | None](), 0
    for pixel in range(count):
        token = (pixel + 0.5) * extent / count / stretch
        if token >= total:
            break
        if token < missing:
            pixels.append(NOT_RECORDED)
            continue
        at = bisect_right(path, token - missing, lo=at, key=read)
        pixels.append(scene.running.category(path[min(at, len(path) - 1)]))
    pixels += [None] * (count - len(pixels))
    breakpoints: tuple[float, ...] = ()
    if charge:
        breakpoints = tuple(
            scene.position(node) * stretch for node in (charge.read_node, charge.write_node) if node != ROOT
        )
    segments = tuple((state, tokens * stretch) for state, tokens in charge.segments()) if charge else ()
    return ContextMap(
        shown=tuple(pixels),
        extent=extent,
        segments=segments,
        inferred_breakpoints=() if charge and charge.recorded else breakpoints,
        set_breakpoints=breakpoints if charge and charge.recorded else (),
        limit=bars.limit_short(scene.limits),
    )


def cursor_token(scene: Scene, cursor: int | None) -> float | None:
    """Token at the middle of the block under the cursor.

    None if it is not in the context, or while that is not counted.
    """
    tree = scene.session.tree
    if cursor is None or not scene.counted or not tree.holds(scene.head, cursor):
        return None
    if cursor == ROOT:
        return scene.missing / 2 * scene.stretch
    return (scene.position(cursor) + scene.position(tree[cursor].parent)) / 2 * scene.stretch


def node_at(scene: Scene, path: Sequence[int], token: float) -> int | None:
    """Node of the block at `token` of the map without edits.

    ``ROOT`` for unrecorded tokens; None after the context, or while it is not counted.
    """
    if not scene.counted:
        return None
    token /= scene.stretch
    if not 0 <= token < scene.position(scene.head):
        return None
    if token < scene.missing:
        return ROOT
    return path[min(bisect_right(path, token, key=scene.position), len(path) - 1)]


def lines(
    context_map: ContextMap, width: int, height: int, *, scaled: bool, colour: bool = True, letters: bool = False
) -> list[Spans]:
    """The pane's body: `height` lines of raster, the track and, if `scaled`, the scale."""
    side = Span(" ")
    body = raster.rows_of(context_map.shown, width, height, colour=colour, letters=letters)
    breakpoints = [
        *((token, True) for token in context_map.inferred_breakpoints),
        *((token, False) for token in context_map.set_breakpoints),
    ]
    out: list[Spans] = [[side, *line] for line in body]
    out.append(
        [side, *raster.track(context_map.segments, width, context_map.extent, breakpoints, context_map.break_at)]
    )
    if scaled:
        out.append([side, *scale.line(width, context_map.extent, context_map.cursor_at)])
    return out
