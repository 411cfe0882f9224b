"""The misses of a session over the Inspector: the list, dearest first, and the one under the cursor in detail.

Commands of the list of misses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.message import Message

from ctxtui.analysis.cache.misses import Misses
from ctxtui.core.errors import CtxtuiError
from ctxtui.tui.commands import Command, key_text
from ctxtui.tui.lists.list_screen import ListScreen, overlay_bindings
from ctxtui.tui.widgets.board import Board
from ctxtui.tui.widgets.keyline import Key, KeyLine
from ctxtui.tui.widgets.pane import Pane
from ctxtui.views.lists import misses
from ctxtui.views.text import safe_text
from ctxtui.views.text.span import Span, Spans


class OpenCall(Command):
    """Show the call of this miss in the transcript."""

    name, action, keys, label, group = "open call", "open", ("enter",), "open call", "misses"


class NextMiss(Command):
    """The next miss, less dear."""

    name, action, keys, shown = "next miss", "step(1)", ("right_square_bracket", "full_stop", "n"), "[ ]"
    label, group = "miss", "misses"


class PreviousMiss(Command):
    """The miss before, dearer."""

    name, action, keys, group = "previous miss", "step(-1)", ("left_square_bracket", "comma", "N"), "misses"


MISSES: tuple[type[Command], ...] = (OpenCall, NextMiss, PreviousMiss)


At = tuple[str, int]
"""A call: its thread and its number there, from 1."""


class MissesPane(Pane):
    """One row for each miss."""

    def __init__(self) -> None:
        super().__init__(title="misses", id="misses")
        self.what: Misses | None = None
        self.trouble = ""

    @property
    def row_count(self) -> int:
        """How many misses there are, and the heads of the columns."""
        return len(self.what.found) + 1 if self.what is not None and self.what.found else 0

    def selectable(self, index: int) -> bool:
        """The heads are no miss."""
        return index > 0

    def render_row(self, index: int, line: int, width: int) -> Spans:
        """A miss."""
        assert self.what is not None
        if index == 0:
            return misses.columns(width)
        found = self.what.found
        several = len({one.thread for one in found}) > 1
        most = found[0].usd or 0.0
        return misses.row(found[index - 1], most, width, here=index == self.cursor, thread=several)

    def empty(self) -> Spans:
        """Before it is worked out, why it could not be, or that there are none."""
        if self.trouble:
            return [Span(f" ▲ {safe_text.one_line(self.trouble, 400)}", "warn")]
        if self.what is None:
            return [Span(" · running every call through the cache simulator", "dim")]
        return [Span(f" No misses in {self.what.calls:,} calls.", "dim")]

    def after(self) -> Spans:
        """How they are ordered."""
        return [Span("dearest first", "dim")] if self.body_width >= misses.NARROW else ()

    def notes(self) -> Spans:
        """The sum, and how the forecasts did."""
        if self.what is None:
            return ()
        head = misses.head(self.what)
        return [*head, Span("   "), *misses.foreseen(self.what)] if self.body_width >= misses.NARROW else head[1:4]


class DetailBoard(Board):
    """The miss under the cursor."""

    def __init__(self) -> None:
        super().__init__(title="miss", id="miss")
        self.what: Misses | None = None
        self.index = 0

    def show(self, what: Misses, index: int) -> None:
        """Another miss."""
        self.what, self.index = what, index
        self.redraw()

    def draw(self, width: int, height: int) -> Sequence[Spans]:
        """Why, drawn to scale, with what would cure it."""
        if self.what is None or self.index >= len(self.what.found):
            return ()
        return misses.detail(self.what.found[self.index], self.what.found, width, height)

    def after(self) -> Spans:
        """Which one it is."""
        return misses.title(self.what.found[self.index]) if self.what is not None and self.what.found else ()


class MissesScreen(ListScreen[At]):
    """`make` works the misses out, in a worker thread; closes with the call that is to be shown."""

    commands: ClassVar[tuple[type[Command], ...]] = MISSES
    BINDINGS = overlay_bindings(MISSES)
    DEFAULT_CSS = """
    MissesScreen #misses { height: auto; max-height: 45%; min-height: 4; }
    MissesScreen #miss { height: 1fr; }
    """

    class Made(Message):
        """The misses, or why there are none."""

        def __init__(self, what: Misses | CtxtuiError) -> None:
            super().__init__()
            self.what = what

    def __init__(self, make: Callable[[], Misses]) -> None:
        self.pane, self.detail = MissesPane(), DetailBoard()
        super().__init__(self.pane)
        self._make = make

    def compose(self) -> ComposeResult:
        """The list, the detail, the keys."""
        yield self.pane
        yield self.detail
        shown = [Key(each.key_shown(), each.label, each.short) for each in self.commands if each.label]
        yield KeyLine([*shown, Key(key_text("escape"), "back")])

    def on_mount(self) -> None:
        """Work it out."""
        self.run_worker(self._work, thread=True, exclusive=True)

    def _work(self) -> None:
        try:
            found: Misses | CtxtuiError = self._make()
        except CtxtuiError as error:
            found = error
        self.post_message(self.Made(found))

    def on_misses_screen_made(self, message: Made) -> None:
        """Show it."""
        if isinstance(message.what, CtxtuiError):
            self.pane.trouble = str(message.what)
            self.pane.redraw()
            return
        self.pane.what = message.what
        rows = min(self.pane.row_count, max(4, self.size.height * 45 // 100 - 1))
        self.pane.styles.height = 1 + max(2, rows)
        self.pane.reload()
        self.pane.move_to(1)
        self.pane.refresh_rule()
        self.detail.show(message.what, 0)

    def on_pane_moved(self, message: Pane.Moved) -> None:
        """Another miss is under the cursor."""
        if self.pane.what is not None and self.pane.cursor:
            self.detail.show(self.pane.what, self.pane.cursor - 1)

    def on_pane_chosen(self, message: Pane.Chosen) -> None:
        """To the call."""
        self.action_open()

    def action_open(self) -> None:
        """Close, and show the call of the miss under the cursor."""
        if self.pane.what is not None and self.pane.what.found and self.pane.cursor:
            one = self.pane.what.found[self.pane.cursor - 1]
            self.dismiss((one.thread, one.number))

    def action_step(self, step: int) -> None:
        """To the next miss, or back."""
        self.pane.move_to(max(1, self.pane.cursor + step))
