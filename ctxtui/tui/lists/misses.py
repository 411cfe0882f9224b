"""The misses of a session over the Inspector: the list, dearest first, and the one under the cursor in detail."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

from textual.widget import Widget

from ctxtui.analysis.cache.missed import Missed
from ctxtui.analysis.cache.misses import Misses
from ctxtui.tui.commands import Act, Command
from ctxtui.tui.lists.list_screen import CallAt, HostedList, ListHost
from ctxtui.tui.widgets.board import Board
from ctxtui.tui.widgets.pane import Pane
from ctxtui.views.glossary.spots import Spot
from ctxtui.views.lists import misses
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.text.sums import ROW
from ctxtui.views.text.table import Table


class OpenCall(Command):
    """Show the call of this miss in the transcript."""

    name, keys, label, group = "open call", ("enter",), "open call", "misses"
    run = Act(lambda: MissesScreen, lambda screen: screen.take())


class NextMiss(Command):
    """The next miss, less dear."""

    name, keys, shown = "next miss", ("right_square_bracket", "full_stop", "n"), "[ ]"
    label, group, parts = "miss", "misses", ("PreviousMiss", "NextMiss")
    run = Act(lambda: MissesScreen, lambda screen: screen.step(1))


class PreviousMiss(Command):
    """The miss before, dearer."""

    name, keys, group = "previous miss", ("left_square_bracket", "comma", "N"), "misses"
    run = Act(lambda: MissesScreen, lambda screen: screen.step(-1))


class DetailBoard(Board):
    """The miss under the cursor."""

    def __init__(self) -> None:
        super().__init__(title="miss", id="miss")
        self.found: Sequence[Missed] = ()
        self.index = 0

    def show(self, found: Sequence[Missed], index: int) -> None:
        """Another miss of these."""
        self.found, self.index = found, index
        self.redraw()

    def draw(self, width: int, height: int) -> Sequence[Spans]:
        """Why, drawn to scale, with what would cure it."""
        if self.index >= len(self.found):
            return ()
        return misses.detail(self.found[self.index], self.found, width, height)

    def after(self) -> Spans:
        """Which one it is."""
        return misses.title(self.found[self.index]) if self.found else ()


class MissesScreen(HostedList[Missed, CallAt]):
    """The misses; closes with the call that is to be shown."""

    commands: ClassVar[tuple[type[Command], ...]] = (OpenCall, NextMiss, PreviousMiss)
    heading, inset = "misses", 0
    working = (Span(" · running every call through the cache simulator", "dim"),)
    DEFAULT_CSS = """
    MissesScreen #misses { height: auto; max-height: 45%; min-height: 4; }
    MissesScreen #miss { height: 1fr; }
    """

    def __init__(self, host: ListHost) -> None:
        self.what: Misses | None = None
        self.detail = DetailBoard()
        super().__init__(host)

    @classmethod
    def ready(cls, host: ListHost) -> bool:
        """Once all is read."""
        return host.loaded is not None and host.complete

    def below(self) -> Iterable[Widget]:
        """The detail."""
        yield self.detail

    def load(self) -> Sequence[Missed]:
        """Every call goes through the simulator."""
        self.what = self.host.misses()
        return self.what.found

    def table(self, rows: Sequence[Missed]) -> Table[Missed]:
        """Call, cause, what changed, money."""
        return misses.table(rows)

    def told(self, rows: Sequence[Missed]) -> Spans:
        """How they are ordered."""
        return [Span("dearest first", "dim")] if self.size.width >= misses.NARROW else ()

    def noted(self, rows: Sequence[Missed]) -> Spans:
        """The sum, and how the forecasts did."""
        if self.what is None:
            return ()
        head = misses.head(self.what)
        return [*head, Span("   "), *misses.foreseen(self.what)] if self.size.width >= misses.NARROW else head[1:4]

    def sums_of_rule(self) -> Mapping[str, str]:
        """What was lost in all."""
        return misses.sums_of_total(self.what) if self.what is not None else {}

    def sums_beside(self, spot: Spot) -> Mapping[str, str]:
        """Of the miss in detail."""
        row = self.pane.row
        if row is None:
            return {}
        tokens, money = misses.sum_of_tokens(row), misses.sum_of_money(row)
        return {"written again": tokens, "read": tokens, "tokens": tokens, "lost": money, "cost": money, ROW: tokens}

    def on_resize(self) -> None:
        """A narrow screen says less."""
        self.tell()

    def show(self, what: Sequence[Missed]) -> None:
        """The list takes what it needs, the detail the rest."""
        if self.what is not None:
            self.pane.none = f" {misses.none_of(self.what)}"
        super().show(what)
        rows = min(self.pane.row_count, max(3, self.size.height * 45 // 100 - 2))
        self.pane.styles.height = max(3, self.pane.body_top + rows)
        self.detail.show(what, 0)

    def on_pane_moved(self, message: Pane.Moved) -> None:
        """Another miss is under the cursor."""
        if self.pane.row is not None:
            self.detail.show(self.rows, self.pane.cursor)

    def step(self, step: int) -> None:
        """To the next miss, or back."""
        self.pane.move_to(self.pane.cursor + step)

    def choose(self, row: Missed) -> CallAt:
        """Its call."""
        return row.thread, row.number

    def done(self, result: CallAt) -> None:
        """Show the call."""
        self.host.to_call(*result)
