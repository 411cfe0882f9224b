"""The tips over the first inspector: numbered at its panes, one key each."""

from __future__ import annotations

import re
from typing import Any, ClassVar, Final

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen

from ctxtui.tui.dialog import Dialog
from ctxtui.tui.dialogs.explain import painted, panes_of
from ctxtui.tui.widgets.snapshot import Lit, Over, Snapshot
from ctxtui.views.glossary import note, tips
from ctxtui.views.glossary.spots import Region
from ctxtui.views.text.span import Span, width

_AGAIN: Final = 0.4
"""Seconds after which the screen below is looked at again: its figures are still coming in."""
_BADGE: Final = 3
"""Cells of a tip's number."""
_NEXT: Final = "space,enter,right,down,tab"
_BEFORE: Final = "left,up,shift+tab"
_OWN_KEYS: Final = frozenset(f"{_NEXT},{_BEFORE},q".split(","))
_SIGNS: Final = 9
"""Cells at the left of the transcript in which its signs stand."""


def _free(line: str) -> int:
    """The cell of a pane's first line at which a number of three cells hides no word."""
    # Where no blanks are left, a bar hides nothing that is read as a word.
    found = re.search(r"(?<=[─━ ·])[─━ ·╱]{3}", line) or re.search(r"[█░·╱┃▏▎▍▌▋▊▉]{3}", line)
    return found.start() if found is not None else 0


class TipsScreen(Dialog[None]):
    """The tips over the `screen` below. A key that is none of theirs closes them, and does what it does there."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(_NEXT, "step(1)", show=False),
        Binding(_BEFORE, "step(-1)", show=False),
        Binding("q", "dismiss", show=False),
    ]
    DEFAULT_CSS = "TipsScreen { background: $background; }"

    def __init__(self, screen: Screen[Any]) -> None:
        super().__init__()
        self._below = screen
        self._at = 0
        self._page = Snapshot(painted(screen))

    def compose(self) -> ComposeResult:
        """The screen below, with the tips over it."""
        yield self._page

    def on_mount(self) -> None:
        """Begin with the first."""
        self._show()
        self.set_interval(_AGAIN, self._look)

    def _look(self) -> None:
        self._page.strips = painted(self._below)
        self._show()

    def _show(self) -> None:
        panes = dict(panes_of(self._below))
        every = tips.place_tips(panes)
        if not every:
            self.dismiss(None)
            return
        self._at = min(self._at, len(every) - 1)
        size = self.app.size
        numbers = []
        for number, (_, pane) in enumerate(every):
            region = panes[pane]
            here = "accent-ink on-accent bold" if number == self._at else "accent bold"
            y = min(region.y, size.height - 1)
            x = region.x + _free(self._page.strips[y].text[region.x : region.x + region.width])
            if pane == "keys":
                # Each key is to be seen: its number stands on the line above.
                x, y = region.x + region.width - 2 * _BADGE, max(0, y - 1)
            numbers.append(Over(x, y, [[Span(f" {number + 1} ", here)]]))
        tip, pane = every[self._at]
        region = panes[pane]
        # What it says of the signs at the left can be looked at meanwhile.
        tall = Region(min(region.x + _SIGNS, max(0, size.width - note.MAX_WIDTH)), region.y, region.width, 1)
        about = region if region.height < size.height // 2 else tall
        last = self._at == len(every) - 1
        title = [Span(f"{self._at + 1} of {len(every)}  ", "dim"), Span(tip.title, "accent bold")]
        foot = [
            Span("space", "accent bold"),
            Span(" done   " if last else " next   ", "dim"),
            Span("esc", "accent bold"),
            Span(" close; they come again by ^p tips", "dim"),
        ]
        lines = note.lines(title, [(tip.text, "ink")], foot, size.width)
        x, y = note.position_note(about, (width(lines[0]), len(lines)), (size.width, size.height))
        self._page.show([*numbers, Over(x, y, lines)], [Lit(about.x, about.y, 0)])

    def action_step(self, step: int) -> None:
        """To the next tip, or back; behind the last one they are over."""
        self._at += step
        if self._at >= len(tips.place_tips(dict(panes_of(self._below)))):
            self.dismiss(None)
            return
        self._at = max(0, self._at)
        self._show()

    async def on_key(self, event: events.Key) -> None:
        """A tip's number goes to it; any other key closes the tips and does what it does."""
        if self.is_current and event.key.isdecimal() and 1 <= int(event.key) <= len(tips.TIPS):
            event.stop()
            self._at = int(event.key) - 1
            self._show()
        elif not self.is_current or event.key not in _OWN_KEYS:
            # A key of the same burst may still come here when they are closed.
            self.dismiss(None)
            event.stop()
            event.prevent_default()
            self.app.call_later(self.app.simulate_key, event.key)

    def on_click(self, event: events.Click) -> None:
        """A click goes on."""
        self.action_step(1)
