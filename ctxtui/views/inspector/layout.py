"""Positions of the Inspector's panes for any screen size."""

from __future__ import annotations

from typing import Final, NamedTuple

from msgspec import Struct, field

NARROW: Final = 100
"""Screen width from which the side column has 46 cells instead of 30."""
WIDE: Final = 160
"""Screen width from which the side column has 44 % of it, and a lower part in two columns."""
MIN_FULL_SIZE: Final = (60, 16)
"""Width and height from which there are panes besides the transcript."""
MIN_READABLE_SIZE: Final = (30, 6)
"""Width and height below which only a sentence is shown."""
WHY_LINE_HEIGHT: Final = 20


class Box(NamedTuple):
    """Position and size of a pane in cells. A pane of the side column includes its left edge."""

    x: int
    y: int
    width: int
    height: int


class PaneNeeds(Struct, frozen=True):
    """Sizes that panes ask for.

    - `context` (the composition), `threads`, `tools`: lines (0: nothing to show).
    - `staged`: lines of the pane of edits, None without edits.
    - `next_call`: the forecast takes the place of this call; `reading`: the transcript fills the screen.
    """

    context: int = 7
    threads: int = 0
    tools: int = 0
    staged: int | None = None
    next_call: bool = False
    reading: bool = False


class Layout(Struct, frozen=True):
    """Boxes of all visible panes by name.

    `map_rows`, `strip_rows`: lines of the map and of the call strip. `map_scale`: the map has a line of figures.
    `marks`: the strip has a line of marks.
    """

    boxes: dict[str, Box] = field(default_factory=dict)
    map_rows: int = 0
    map_scale: bool = False
    strip_rows: int = 0
    marks: bool = False


def arrange(width: int, height: int, needs: PaneNeeds) -> Layout:
    """Lay out the panes on a screen of `width` x `height` cells."""
    if width < MIN_READABLE_SIZE[0] or height < MIN_READABLE_SIZE[1]:
        return Layout({"sentence": Box(0, 0, width, height)})
    boxes = {"header": Box(0, 0, width, 1), "keys": Box(0, height - 1, width, 1)}
    if width < MIN_FULL_SIZE[0] or height < MIN_FULL_SIZE[1]:
        # The prompt replaces the key line while text is typed or a message is shown.
        boxes["prompt"] = Box(0, height - 1, width, 1)
        boxes["transcript"] = Box(0, 1, width, height - 2)
        return Layout(boxes)
    is_tall = height >= 30
    strip = 1 if not is_tall else 4 if height < 50 else 8
    boxes["prompt"] = Box(0, height - 2, width, 1)
    if is_tall:
        boxes["edge"] = Box(0, height - 3, width, 1)
    if needs.reading:
        boxes["transcript"] = Box(0, 1, width, height - 3 - is_tall)
        return Layout(boxes, strip_rows=strip)
    calls = strip + 1 + is_tall
    top = height - 2 - is_tall - calls
    boxes["calls"] = Box(0, top, width, calls)
    side = 30 if width < NARROW else 46 if width < WIDE else int(width * 0.44)
    if needs.staged and width < WIDE:
        # Room for the columns of prices.
        side += 4
    first = 1 + (height >= WHY_LINE_HEIGHT)
    if first > 1:
        boxes["why"] = Box(0, 1, width, 1)
    boxes["transcript"] = Box(0, first, width - side - 1, top - first)
    rows, scaled = _arrange_side(boxes, width, height, Box(width - side - 1, first, side + 1, top - first), needs)
    return Layout(boxes, rows, scaled, strip, is_tall)


def _arrange_side(boxes: dict[str, Box], width: int, height: int, room: Box, needs: PaneNeeds) -> tuple[int, bool]:
    """Stack the side column into `room`; return the rows of the map, and whether it has a scale."""
    edits = needs.staged is not None
    lines = {
        "context": needs.context + 1,
        "rows": 3 if height < 30 else 4 if height < 50 else 8,
        "scale": int(height >= 30),
        "staged": needs.staged + 1 if needs.staged is not None else 0,
        "call": 8 if height >= 30 else 4,
    }
    folds = (("scale", 0), ("call", 4), ("context", 5 if edits else 4), ("rows", 1 if edits else 2))
    for name, least in (*folds, ("staged", min(lines["staged"], 5)), ("context", 1 if edits else 4), ("staged", 2)):
        missing = sum(lines.values()) + 2 - room.height
        if missing > 0 and lines[name] > least:
            lines[name] = least if name in ("scale", "call") else max(least, lines[name] - missing)
    rows, has_scale, call = lines["rows"], bool(lines["scale"]), lines["call"]
    y = room.y
    for name, height in (("context", lines["context"]), ("map", 2 + rows + has_scale), ("staged", lines["staged"])):
        if height:
            boxes[name] = Box(room.x, y, room.width, height)
            y += height
    lower = Box(room.x, y, room.width, room.y + room.height - y)
    if width >= WIDE and lower.height >= call + 6:
        _arrange_lower(boxes, lower, call, needs)
    else:
        left = lower.height - call
        boxes["this-call"] = Box(lower.x, y, lower.width, lower.height if left < 4 else call)
        if left >= 4:
            boxes["heaviest"] = Box(lower.x, y + call, lower.width, left)
    return rows, has_scale


def _arrange_lower(boxes: dict[str, Box], room: Box, call: int, needs: PaneNeeds) -> None:
    left = min(room.width // 2 + 1, max(42, room.width * 2 // 5 + 1))
    y, end = room.y, room.y + room.height
    boxes["this-call"] = Box(room.x, y, left, call)
    y += call
    threads = min(needs.threads, 6, max(0, end - y - 8)) if needs.threads > 1 else 0
    if threads:
        boxes["threads"] = Box(room.x, y, left, threads + 1)
        y += threads + 1
    if end - y >= 6:
        boxes["growth"] = Box(room.x, y, left, end - y)
    else:
        last = "threads" if threads else "this-call"
        boxes[last] = boxes[last]._replace(height=end - boxes[last].y)
    right = Box(room.x + left, room.y, room.width - left, room.height)
    tools = min(needs.tools, 5) + 1 if needs.tools and room.height >= 14 else 0
    boxes["heaviest"] = right._replace(height=right.height - tools)
    if tools:
        boxes["tools"] = right._replace(y=right.y + right.height - tools, height=tools)
