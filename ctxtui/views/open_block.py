"""Opened blocks: how each is open, its lines, and how they are drawn under its row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ctxtui.views.body import Body
from ctxtui.views.markdown import Highlight
from ctxtui.views.path import MISSING
from ctxtui.views.readings import Readings, Recent
from ctxtui.views.scene import Scene
from ctxtui.views.span import Span, Spans

if TYPE_CHECKING:
    from ctxtui.lab.ledger import Ledger
    from ctxtui.views.content import Content

MORE: Final = 8
"""By how much more of an opened block is shown each time more is asked for."""


@dataclass(frozen=True, slots=True)
class Opened:
    """How a block is open: at most `lines` of it, as JSON where `raw`."""

    lines: int
    raw: bool = False


class Bodies:
    """The bodies of opened blocks, kept while they are looked at."""

    def __init__(self, readings: Readings, highlight: Highlight | None) -> None:
        self._readings = readings
        self._highlight = highlight
        self._kept: Recent[Body] = Recent(256)

    def body(self, scene: Scene, ledger: Ledger | None, entry: int, raw: bool, room: int) -> Body:
        """The lines of the block of node `entry` in `room` cells, as JSON where `raw`."""
        key = (entry, raw, room)
        found = self._kept.get(key)
        if found is None:
            got = self._content(scene, ledger, entry, raw)
            found = self._kept.put(key, Body(got.lines, room, got.total, got.hang))
        return found

    def forget(self) -> None:
        """The blocks' facts changed."""
        self._kept.clear()

    def _content(self, scene: Scene, ledger: Ledger | None, entry: int, raw: bool) -> Content:
        # Imported here: nothing is open on the first screen.
        from ctxtui.lab.figures import missing_block
        from ctxtui.views import content
        from ctxtui.views.media_facts import facts

        if entry == MISSING:
            figure = missing_block(scene.book, scene.call, scene.missing)
            return content.missing(figure.tokens, figure.lo, figure.hi)
        node = scene.session.tree[entry]
        if raw:
            return content.raw(node.block)
        if not self._readings.ready(entry):
            return content.coming()
        got = self._readings.reading(entry)
        return content.content(
            node.category,
            got,
            self._readings.value(entry),
            call=self._readings.call_of(node, got),
            highlight=self._highlight,
            facts=facts(got, scene, entry, ledger) if got.media else (),
        )


def body_line(body: Body, how: Opened, line: int, gutter: Span, style: str) -> Spans:
    """Line `line` (from 1) under the row of an opened block: its body behind ``│``, then the line that closes it."""
    gutter = gutter if gutter.text in "┃╏┊" else Span(" ")
    shown = body.height(how.lines)
    if line <= shown:
        return [gutter, Span("     "), Span("│ ", style), *(body.line(line - 1) or ())]
    return [gutter, Span("     "), Span("╰ ", style), *closing(body.more(shown), how)]


def closing(more: int | None, how: Opened) -> list[Span]:
    """The line under an open block: how much of it is not shown, and the keys that act on it."""
    left = "" if more == 0 else "more lines  " if more is None else f"{more:,} more line{'s' if more != 1 else ''}  "
    keys = (
        "⏎ fold  " + ("e more  " if more != 0 else "") + "o pager  y copy  " + ("r read" if how.raw else "r raw JSON")
    )
    return [Span(left, "dim"), Span(keys, "faint")]
