"""Tips over the inspector, numbered at its panes."""

from __future__ import annotations

import re
from typing import Any, ClassVar, Final

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen

from ctxtui.tui.dialog import Dialog
from ctxtui.tui.dialogs.explain import painted_lines, panes_of
from ctxtui.tui.widgets.snapshot import Highlight, Note, Snapshot
from ctxtui.views.glossary import note, tips
from ctxtui.views.glossary.spots import Region
from ctxtui.views.text.signs import key_hint
from ctxtui.views.text.span import Span, width

_UPDATE_SECONDS: Final = 0.4
"""Seconds between updates of the picture below, whose figures may still be loading."""
_NUMBER_CELLS: Final = 3
"""Width of a tip's number."""
_NEXT: Final = "space,enter,right,down,tab"
_PREVIOUS: Final = "left,up,shift+tab"
_OWN_KEYS: Final = frozenset(f"{_NEXT},{_PREVIOUS},q".split(","))
_SIGN_CELLS: Final = 9
"""Cells at the left of the transcript for its signs."""


def _free_cell(line: str) -> int:
    """Return the cell of a pane's first line where a three-cell number hides no word, or 0."""
    # If there are no blanks, cover part of a bar, which is no word.
    match = re.search(r"(?<=[─━ ·])[─━ ·╱]{3}", line) or re.search(r"[█░·╱┃▏▎▍▌▋▊▉]{3}", line)
    return match.start() if match is not None else 0


class TipsScreen(Dialog[None]):
    """The tips over the `screen` below.

    A key that is not one of theirs closes them and acts below.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(_NEXT, "step(1)", show=False),
        Binding(_PREVIOUS, "step(-1)", show=False),
        Binding("q", "dismiss", show=False),
    ]
    DEFAULT_CSS = "TipsScreen { background: $background; }"

    def __init__(self, screen: Screen[Any]) -> None:
        super().__init__()
        self._screen_below = screen
        self._index = 0
        self._page = Snapshot(painted_lines(screen))

    def compose(self) -> ComposeResult:
        yield self._page

    def on_mount(self) -> None:
        self._show()
        self.set_interval(_UPDATE_SECONDS, self._update_picture)

    def _update_picture(self) -> None:
        self._page.strips = painted_lines(self._screen_below)
        self._show()

    def _show(self) -> None:
        panes = dict(panes_of(self._screen_below))
        placed = tips.place_tips(panes)
        if not placed:
            self.dismiss(None)
            return
        self._index = min(self._index, len(placed) - 1)
        size = self.app.size
        numbers = []
        for number, (_, pane) in enumerate(placed):
            region = panes[pane]
            here = "accent-ink on-accent bold" if number == self._index else "accent bold"
            y = min(region.y, size.height - 1)
            x = region.x + _free_cell(self._page.strips[y].text[region.x : region.x + region.width])
            if pane == "keys":
                # Keep each key visible: put the number on the line above.
                x, y = region.x + region.width - 2 * _NUMBER_CELLS, max(0, y - 1)
            numbers.append(Note(x, y, [[Span(f" {number + 1} ", here)]]))
        tip, pane = placed[self._index]
        region = panes[pane]
        # Keep the signs at the left visible while the tip explains them.
        tall = Region(min(region.x + _SIGN_CELLS, max(0, size.width - note.MAX_WIDTH)), region.y, region.width, 1)
        about = region if region.height < size.height // 2 else tall
        last = self._index == len(placed) - 1
        title = [Span(f"{self._index + 1} of {len(placed)}  ", "dim"), Span(tip.title, "accent bold")]
        step = "done   " if last else "next   "
        foot = [*key_hint("space", step), *key_hint("esc", "close (^p tips shows them again)")]
        lines = note.lines(title, [(tip.text, "ink")], foot, size.width)
        x, y = note.position_note(about, (width(lines[0]), len(lines)), (size.width, size.height))
        self._page.show([*numbers, Note(x, y, lines)], [Highlight(about.x, about.y, 0)])

    def action_step(self, step: int) -> None:
        """Go to the next tip, or back; close after the last one."""
        self._index += step
        if self._index >= len(tips.place_tips(dict(panes_of(self._screen_below)))):
            self.dismiss(None)
            return
        self._index = max(0, self._index)
        self._show()

    async def on_key(self, event: events.Key) -> None:
        """Go to the tip of a number.

        Close the tips and act on the screen below for a key not bound here.
        """
        if self.is_current and event.key.isdecimal() and 1 <= int(event.key) <= len(tips.TIPS):
            event.stop()
            self._index = int(event.key) - 1
            self._show()
        elif not self.is_current or event.key not in _OWN_KEYS:
            # A key of the same burst may still arrive after closing.
            self.dismiss(None)
            event.stop()
            event.prevent_default()
            self.app.call_later(self.app.simulate_key, event.key)

    def on_click(self, event: events.Click) -> None:
        self.action_step(1)
