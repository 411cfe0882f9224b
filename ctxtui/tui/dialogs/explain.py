"""Explanations of the words, signs and figures of a screen, with arithmetic, shown over it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Final

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

from ctxtui.services.config.package_data import glossary
from ctxtui.tui.commands.command import Commanded
from ctxtui.tui.dialog import Dialog
from ctxtui.tui.widgets.pane import Pane
from ctxtui.tui.widgets.snapshot import Highlight, Note, Snapshot
from ctxtui.views.glossary import note, spots
from ctxtui.views.glossary.spots import Region, Spot
from ctxtui.views.text import cells
from ctxtui.views.text.signs import key_hint
from ctxtui.views.text.span import Span, Spans, width
from ctxtui.views.text.sums import ROW

_KEYS: Spans = (
    *key_hint("← → ↑ ↓", "move  "), *key_hint("⏎", "more in the help  "), *key_hint("esc", "close"),
)  # fmt: skip
_SIGN: Final = 5
"""Cell of a row that holds the sign of its kind."""


def painted_lines(screen: Screen[Any]) -> list[Strip]:
    """Return the screen's lines as currently painted."""
    return list(screen._compositor.render_strips())


def spots_of(screen: Screen[Any], strips: Sequence[Strip]) -> list[Spot]:
    """Return everything on a screen that can be explained."""
    lines = [strip.text for strip in strips]
    all_spots = spots.find_spots(lines, panes_of(screen), glossary())
    return [spot for spot in all_spots if not screen.is_text(spot)] if isinstance(screen, Commanded) else all_spots


def panes_of(screen: Screen[Any]) -> Iterator[tuple[str, Region]]:
    for widget in screen.walk_children(Widget):
        region = widget.region
        if not widget.children and widget.display and region.area:
            yield widget.id or type(widget).__name__.lower(), Region(*region)


def explain(screen: Screen[Any], spot: Spot) -> list[tuple[str, str]]:
    """Return the glossary's sentences and the screen's arithmetic ("": none), with their styles."""
    sums = screen.sums(spot) if isinstance(screen, Commanded) else {}
    sum_ = sums.get(spot.entry.word, "") or (sums.get(ROW, "") if spot.figure else "")
    return [(spot.entry.says, "ink"), (sum_, "dim")]


class ExplainScreen(Dialog[str]):
    """Explains one spot of `screen` at a time.

    It closes with the word to look up in the help, if any.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,shift+tab", "go(-1, 0)", show=False),
        Binding("right,tab", "go(1, 0)", show=False),
        Binding("up", "go(0, -1)", show=False),
        Binding("down", "go(0, 1)", show=False),
        Binding("enter,question_mark,f1", "more", show=False),
        Binding("q,equals_sign", "dismiss", show=False),
    ]
    DEFAULT_CSS = "ExplainScreen { background: $background; }"

    def __init__(self, screen: Screen[Any]) -> None:
        super().__init__()
        self._screen_below = screen
        strips = painted_lines(screen)
        self.spots = spots_of(screen, strips)
        self._page = Snapshot(strips)
        self.spot: Spot | None = spots.nearest_spot(self.spots, *_focus(screen))

    def compose(self) -> ComposeResult:
        yield self._page

    def on_mount(self) -> None:
        self._show()

    def _show(self) -> None:
        spot = self.spot
        if spot is None:
            return
        sentences = [*explain(self._screen_below, spot)]
        text = cells.fit(spot.text.strip(), 12)
        title = [Span(spot.entry.word, "accent bold")]
        title = title if text == spot.entry.word else [Span(f"{text}  "), *title]
        lines = note.lines(title, sentences, _KEYS, self.app.size.width)
        size = width(lines[0]), len(lines)
        x, y = note.position_note(Region(spot.x, spot.y, spot.width, 1), size, self.app.size)
        self._page.show([Note(x, y, lines)], [Highlight(spot.x, spot.y, spot.width)])

    def action_go(self, columns: int, rows: int) -> None:
        if self.spot is not None:
            self.spot = spots.next_spot(self.spots, self.spot, columns, rows)
            self._show()

    def action_more(self) -> None:
        self.dismiss(self.spot.entry.word if self.spot is not None else "")

    def on_mouse_move(self, event: events.MouseMove) -> None:
        under = spots.spot_at(self.spots, event.screen_x, event.screen_y)
        if under is not None and under != self.spot:
            self.spot = under
            self._show()

    def on_click(self, event: events.Click) -> None:
        under = spots.spot_at(self.spots, event.screen_x, event.screen_y)
        if under is None:
            self.dismiss()
        else:
            self.spot = under
            self._show()

    def on_resize(self, event: events.Resize) -> None:
        """Close: after a resize the picture no longer fits."""
        if event.size.height != len(self._page.strips) or event.size.width != self._page.strips[0].cell_length:
            self.dismiss()


def _focus(screen: Screen[Any]) -> tuple[int, int]:
    """Return a cell (x, y) of the focused pane's cursor row or of the focused widget."""
    widget = screen.focused
    if widget is None:
        return 0, 0
    x, y, _, height = widget.region
    if isinstance(widget, Pane):
        line = widget.body_top + widget.viewport.heights.line_of(widget.cursor) - widget.viewport.top
        # Not the cursor itself, but the sign for the kind of row.
        return x + _SIGN, y + min(max(0, line), height - 1)
    return x, y
