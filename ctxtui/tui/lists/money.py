"""Money of a session, as tabs of one list: the total in its parts, the misses with their proof, tools, categories."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from textual.widget import Widget

from ctxtui.analysis.cache.miss import CacheMiss
from ctxtui.analysis.cache.miss_finder import Misses
from ctxtui.analysis.money.spending import SpendingRow
from ctxtui.analysis.money.statement import Statement
from ctxtui.tui.commands import Act, Command
from ctxtui.tui.lists.list_screen import CallAt, HostedList
from ctxtui.tui.widgets.board import Board
from ctxtui.tui.widgets.pane import Pane
from ctxtui.views.glossary.spots import Spot
from ctxtui.views.lists import misses
from ctxtui.views.lists.costs import bill
from ctxtui.views.lists.costs.bill import BillLine
from ctxtui.views.text import numbers, sums
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.text.sums import ROW
from ctxtui.views.text.table import Table

if TYPE_CHECKING:
    from ctxtui.tui.inspector.state import InspectorState


Row = TypeVar("Row")


class OpenCall(Command):
    """Show the call of this miss in the transcript."""

    name, keys, label, group = "open call", ("enter",), "open call", "misses"
    run = Act(lambda: MissesScreen, lambda screen: screen.take())


class NextMiss(Command):
    """The next miss, less dear."""

    name, keys, shown = "next miss", ("right_square_bracket",), "[ ]"
    label, group, parts = "miss", "misses", ("PreviousMiss", "NextMiss")
    run = Act(lambda: MissesScreen, lambda screen: screen.step(1))


class PreviousMiss(Command):
    """The miss before, dearer."""

    name, keys, group = "previous miss", ("left_square_bracket",), "misses"
    run = Act(lambda: MissesScreen, lambda screen: screen.step(-1))


class ShowProof(Command):
    """Show the two requests, at the block with which the miss begins. Going to a block from there closes this list."""

    name, keys, label, short, group = "diff of the two requests", ("P",), "diff of the requests", "diff", "misses"
    run = Act(lambda: MissesScreen, lambda screen: screen.prove())


class DetailBoard(Board):
    """The miss under the cursor."""

    def __init__(self) -> None:
        super().__init__(title="miss", id="miss")
        self.found: Sequence[CacheMiss] = ()
        self.index = 0

    def show(self, found: Sequence[CacheMiss], index: int) -> None:
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


class MissesScreen(HostedList[CacheMiss, CallAt]):
    """The misses; closes with the call that is to be shown."""

    tabs = "money"
    commands: ClassVar[tuple[type[Command], ...]] = (OpenCall, ShowProof, NextMiss, PreviousMiss)
    heading = "misses"
    working = (Span(" · running every call through the cache simulator", "dim"),)
    DEFAULT_CSS = """
    MissesScreen #misses { height: auto; max-height: 45%; min-height: 4; }
    MissesScreen #miss { height: 1fr; }
    """

    def __init__(self, host: InspectorState) -> None:
        self.what: Misses | None = None
        self.detail = DetailBoard()
        super().__init__(host)

    @classmethod
    def ready(cls, host: InspectorState) -> bool:
        """Once all is read."""
        return host.loaded is not None and host.complete

    def below(self) -> Iterable[Widget]:
        """The detail."""
        yield self.detail

    def load(self) -> Sequence[CacheMiss]:
        """Every call goes through the simulator."""
        self.what = self.host.misses()
        return self.what.misses

    def table(self, rows: Sequence[CacheMiss]) -> Table[CacheMiss]:
        """Call, cause, what changed, money."""
        return misses.table(rows)

    def told(self, rows: Sequence[CacheMiss]) -> Spans:
        """How they are ordered."""
        return [Span("dearest first", "dim")] if self.size.width >= misses.NARROW else ()

    def noted(self, rows: Sequence[CacheMiss]) -> Spans:
        """The sum, and how the forecasts did."""
        if self.what is None:
            return ()
        head = misses.heading(self.what)
        return [*head, Span("   "), *misses.forecast_note(self.what)] if self.size.width >= misses.NARROW else head[1:4]

    def sums_of_rule(self) -> Mapping[str, str]:
        """What was lost in all."""
        return misses.explain_total(self.what) if self.what is not None else {}

    def sums_beside(self, spot: Spot) -> Mapping[str, str]:
        """Of the miss in detail."""
        row = self.pane.row
        if row is None:
            return {}
        tokens, money = misses.explain_tokens(row), misses.explain_money(row)
        return {"written again": tokens, "read": tokens, "tokens": tokens, "lost": money, "cost": money, ROW: tokens}

    def on_resize(self) -> None:
        """A narrow screen says less."""
        self.tell()

    def show(self, what: Sequence[CacheMiss]) -> None:
        """The list takes what it needs, the detail the rest."""
        if self.what is not None:
            self.pane.none = f" {misses.none_found(self.what)}"
        super().show(what)
        rows = min(len(what), max(3, self.size.height * 45 // 100 - 2))
        self.pane.styles.height = max(3, self.pane.body_top + rows)
        self.detail.show(what, 0)

    def on_pane_moved(self, message: Pane.Moved) -> None:
        """Another miss is under the cursor."""
        if self.pane.row is not None:
            self.detail.show(self.pane.rows or (), self.pane.cursor)

    def prove(self) -> None:
        """Show what differs between the two requests, over this list."""
        row = self.pane.row
        if row is not None:
            self.host.compare(row.thread, (row.base, row.number), row.block, self.dismiss)
        elif self.pane.rows is None:
            self.said.say([Span("the misses are still being worked out", "dim")])

    def step(self, step: int) -> None:
        """To the next miss, or back."""
        self.pane.move_to(self.pane.cursor + step)

    def choose(self, row: CacheMiss) -> CallAt:
        """Its call."""
        return row.thread, row.number

    def done(self, result: CallAt) -> None:
        """Show the call."""
        self.host.to_call(*result)


class StatementList(HostedList[Row, None], Generic[Row]):
    """A tab of what the statement of the session says."""

    tabs = "money"
    none = "Nothing was paid."
    working = (Span(" · adding up every call of every thread", "dim"),)

    def __init__(self, host: InspectorState) -> None:
        self.what: Statement | None = None
        super().__init__(host)

    @classmethod
    def ready(cls, host: InspectorState) -> bool:
        """Once all is read."""
        return host.loaded is not None and host.complete

    def load(self) -> Sequence[Row]:
        """Add up every call."""
        self.what = self.host.statement()
        return self.listed(self.what)

    @abstractmethod
    def listed(self, what: Statement) -> Sequence[Row]:
        """The rows."""


class ShowAdvice(Command):
    """Close this list, and show what would cost less from here on."""

    name, keys, label, group = "advice: what would help", ("exclamation_mark",), "advice", "money"
    run = Act(lambda: TotalScreen, lambda screen: screen.show_advice())


class TotalScreen(StatementList[BillLine]):
    """The parts of the bill, the dearest blocks, how long calls took."""

    commands: ClassVar[tuple[type[Command], ...]] = (ShowAdvice,)
    heading = "bill"

    def listed(self, what: Statement) -> Sequence[BillLine]:
        """As wide as the screen."""
        return bill.overview(what, self.size.width - 2)

    def table(self, rows: Sequence[BillLine]) -> Table[BillLine]:
        """The lines as they are."""
        return bill.LINE_TABLE

    def told(self, rows: Sequence[BillLine]) -> Spans:
        """What it comes to, of how many calls."""
        return bill.heading(self.what)[1:] if self.what is not None else ()

    def on_resize(self) -> None:
        """Another width gives other lines."""
        if self.what is not None:
            self.show(self.listed(self.what))

    def sums_of_rule(self) -> Mapping[str, str]:
        """The sum behind the total."""
        return {ROW: bill.explain_total(self.what)} if self.what is not None else {}

    def show_advice(self) -> None:
        """To the list of advice."""
        below = self.app.screen_stack[-2]
        self.dismiss(None)
        below.call_after_refresh(below.run_action, "command('AdviceList')")


class ToolCostScreen(StatementList[SpendingRow]):
    """What each tool cost as input, by its definition, calls and results; then the rest of the bill."""

    heading, order = "cost by tool", "cost"

    def listed(self, what: Statement) -> Sequence[SpendingRow]:
        """The rows."""
        return what.tools

    def table(self, rows: Sequence[SpendingRow]) -> Table[SpendingRow]:
        """Each with its share of the bill."""
        return bill.spending_table(rows, self.what.bill.usd if self.what is not None else None)

    def noted(self, rows: Sequence[SpendingRow]) -> Spans:
        """What all of them come to."""
        if self.what is None:
            return ()
        return [Span(numbers.least(self.what.bill.usd, self.what.bill.at_least), "ink bold"), Span(" in all", "dim")]

    def sums_of_rule(self) -> Mapping[str, str]:
        """The same as a sum."""
        usd = self.what.bill.usd if self.what is not None else None
        return {ROW: sums.money_addition(usd, [row.usd for row in self.rows], "rows")}


class CategoryCostScreen(ToolCostScreen):
    """What each category of block cost as input; then output and what no block stands for."""

    heading = "cost by category"

    def listed(self, what: Statement) -> Sequence[SpendingRow]:
        """The rows."""
        return what.categories
