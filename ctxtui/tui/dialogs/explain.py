"""What a word, sign or figure of a screen means: over the screen, each in two sentences with its arithmetic."""

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
from ctxtui.tui.widgets.snapshot import Lit, Over, Snapshot
from ctxtui.views.glossary import note, spots
from ctxtui.views.glossary.spots import Region, Spot
from ctxtui.views.text import cells
from ctxtui.views.text.span import Span, Spans, width
from ctxtui.views.text.sums import ROW

_KEYS: Spans = (
    Span("← → ↑ ↓", "accent bold"),
    Span(" others  ", "dim"),
    Span("⏎", "accent bold"),
    Span(" more in the help  ", "dim"),
    Span("esc", "accent bold"),
    Span(" close", "dim"),
)
_SIGN: Final = 5
"""The cell of a row in which the sign of its kind stands."""


def painted(screen: Screen[Any]) -> list[Strip]:
    """The screen as it is painted now."""
    return list(screen._compositor.render_strips())


def spots_of(screen: Screen[Any], strips: Sequence[Strip]) -> list[Spot]:
    """All that can be explained of a screen."""
    lines = [strip.text for strip in strips]
    found = spots.find_spots(lines, panes_of(screen), glossary())
    return [spot for spot in found if not screen.is_text(spot)] if isinstance(screen, Commanded) else found


def panes_of(screen: Screen[Any]) -> Iterator[tuple[str, Region]]:
    """The panes of a screen, each with its place."""
    for widget in screen.walk_children(Widget):
        region = widget.region
        if not widget.children and widget.display and region.area:
            yield widget.id or type(widget).__name__.lower(), Region(*region)


def explained(screen: Screen[Any], spot: Spot) -> list[tuple[str, str]]:
    """What a spot means: two sentences, and the sum behind the figure where the screen knows it."""
    sums = screen.sums(spot) if isinstance(screen, Commanded) else {}
    sum_ = sums.get(spot.entry.word, "") or (sums.get(ROW, "") if spot.figure else "")
    return [(spot.entry.says, "ink"), (sum_, "dim")]


class ExplainScreen(Dialog[str]):
    """Explains one spot of the `screen` below after the other; closes with the word that more is wanted of, or
    ""."""

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
        self._below = screen
        strips = painted(screen)
        self.spots = spots_of(screen, strips)
        self._page = Snapshot(strips)
        self.spot: Spot | None = spots.nearest_spot(self.spots, *_focus(screen))

    def compose(self) -> ComposeResult:
        """The screen below as it is, with what is said over it."""
        yield self._page

    def on_mount(self) -> None:
        """Begin at what has the focus."""
        self._show()

    def _show(self) -> None:
        spot = self.spot
        if spot is None:
            return
        said = [*explained(self._below, spot)]
        text = cells.fit(spot.text.strip(), 12)
        title = [Span(spot.entry.word, "accent bold")]
        title = title if text == spot.entry.word else [Span(f"{text}  "), *title]
        lines = note.lines(title, said, _KEYS, self.app.size.width)
        size = width(lines[0]), len(lines)
        x, y = note.position_note(Region(spot.x, spot.y, spot.width, 1), size, self.app.size)
        self._page.show([Over(x, y, lines)], [Lit(spot.x, spot.y, spot.width)])

    def action_go(self, columns: int, rows: int) -> None:
        """To the next one in a direction."""
        if self.spot is not None:
            self.spot = spots.next_spot(self.spots, self.spot, columns, rows)
            self._show()

    def action_more(self) -> None:
        """All of the help that has to do with it."""
        self.dismiss(self.spot.entry.word if self.spot is not None else "")

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """What is under the mouse."""
        under = spots.spot_at(self.spots, event.screen_x, event.screen_y)
        if under is not None and under != self.spot:
            self.spot = under
            self._show()

    def on_click(self, event: events.Click) -> None:
        """A click on another one explains it, elsewhere it closes."""
        under = spots.spot_at(self.spots, event.screen_x, event.screen_y)
        if under is None:
            self.dismiss()
        else:
            self.spot = under
            self._show()

    def on_resize(self, event: events.Resize) -> None:
        """Another size is another screen: what was painted stands elsewhere."""
        if event.size.height != len(self._page.strips) or event.size.width != self._page.strips[0].cell_length:
            self.dismiss()


def _focus(screen: Screen[Any]) -> tuple[int, int]:
    """The cell at which the eye is: the cursor's row in the pane that has the focus."""
    widget = screen.focused
    if widget is None:
        return 0, 0
    x, y, _, height = widget.region
    if isinstance(widget, Pane):
        line = widget.body_top + widget.viewport.heights.line_of(widget.cursor) - widget.viewport.top
        # Not the cursor itself: what kind of row it is on.
        return x + _SIGN, y + min(max(0, line), height - 1)
    return x, y
