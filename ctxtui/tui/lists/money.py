"""Cost of a session, as tabs of one list: total, misses with their diffs, tools, categories."""

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
    run = Act(lambda: MissesScreen, lambda screen: screen.accept())


class NextMiss(Command):
    """Go to the next miss in the list."""

    name, keys, shown = "next miss", ("right_square_bracket",), "[ ]"
    label, group, part_commands = "miss", "misses", ("PreviousMiss", "NextMiss")
    run = Act(lambda: MissesScreen, lambda screen: screen.step(1))


class PreviousMiss(Command):
    """Go to the previous miss in the list."""

    name, keys, group = "previous miss", ("left_square_bracket",), "misses"
    run = Act(lambda: MissesScreen, lambda screen: screen.step(-1))


class ShowProof(Command):
    """Show the two requests from the first block that differs.

    Going to a block closes this list.
    """

    name, keys, label, short_label, group = "diff of the two requests", ("P",), "diff of the requests", "diff", "misses"
    run = Act(lambda: MissesScreen, lambda screen: screen.prove())


class DetailBoard(Board):
    """Details of the miss under the cursor."""

    def __init__(self) -> None:
        super().__init__(title="miss", id="miss")
        self.misses: Sequence[CacheMiss] = ()
        self.index = 0

    def show(self, rows: Sequence[CacheMiss], index: int) -> None:
        self.misses, self.index = rows, index
        self.redraw()

    def draw(self, width: int, height: int) -> Sequence[Spans]:
        if self.index >= len(self.misses):
            return ()
        return misses.detail(self.misses[self.index], self.misses, width, height)

    def after(self) -> Spans:
        return misses.title(self.misses[self.index]) if self.misses else ()


class MissesScreen(HostedList[CacheMiss, CallAt]):
    """The misses; closes with the call to show."""

    tab_group = "money"
    commands: ClassVar[tuple[type[Command], ...]] = (OpenCall, ShowProof, NextMiss, PreviousMiss)
    heading = "misses"
    loading_text = (Span(" · running every call through the cache simulator", "dim"),)
    DEFAULT_CSS = """
    MissesScreen #misses { height: auto; max-height: 45%; min-height: 4; }
    MissesScreen #miss { height: 1fr; }
    """

    def __init__(self, host: InspectorState) -> None:
        self.misses: Misses | None = None
        self.detail = DetailBoard()
        super().__init__(host)

    @classmethod
    def ready(cls, host: InspectorState) -> bool:
        return host.loaded is not None and host.complete

    def below(self) -> Iterable[Widget]:
        yield self.detail

    def load(self) -> Sequence[CacheMiss]:
        from ctxtui.services.workers.session_report import MISSES

        self.misses = self.host.report(MISSES)
        return self.misses.misses

    def table(self, rows: Sequence[CacheMiss]) -> Table[CacheMiss]:
        return misses.table(rows)

    def title_suffix(self, rows: Sequence[CacheMiss]) -> Spans:
        return [Span("most expensive first", "dim")] if self.size.width >= misses.NARROW else ()

    def rule_notes(self, rows: Sequence[CacheMiss]) -> Spans:
        if self.misses is None:
            return ()
        head = misses.heading(self.misses)
        return (
            [*head, Span("   "), *misses.forecast_note(self.misses)] if self.size.width >= misses.NARROW else head[1:4]
        )

    def sums_of_rule(self) -> Mapping[str, str]:
        return misses.explain_total(self.misses) if self.misses is not None else {}

    def sums_beside(self, spot: Spot) -> Mapping[str, str]:
        row = self.pane.row
        if row is None:
            return {}
        tokens, money = misses.explain_tokens(row), misses.explain_money(row)
        return {"written again": tokens, "read": tokens, "tokens": tokens, "lost": money, "cost": money, ROW: tokens}

    def on_resize(self) -> None:
        self.update_rule()

    def show(self, rows: Sequence[CacheMiss]) -> None:
        if self.misses is not None:
            self.pane.none = f" {misses.none_found(self.misses)}"
        super().show(rows)
        lines = min(len(rows), max(3, self.size.height * 45 // 100 - 2))
        self.pane.styles.height = max(3, self.pane.body_top + lines)
        self.detail.show(rows, 0)

    def on_pane_moved(self, message: Pane.Moved) -> None:
        if self.pane.row is not None:
            self.detail.show(self.pane.rows or (), self.pane.cursor)

    def prove(self) -> None:
        row = self.pane.row
        if row is not None:
            self.host.compare(row.thread, (row.base, row.number), row.block, self.dismiss)
        elif self.pane.rows is None:
            self.show_message([Span("The misses are still being computed.", "dim")])

    def step(self, step: int) -> None:
        self.pane.move_to(self.pane.cursor + step)

    def choose(self, row: CacheMiss) -> CallAt:
        return row.thread, row.number

    def done(self, result: CallAt) -> None:
        self.host.to_call(*result)


class StatementList(HostedList[Row, None], Generic[Row]):
    """A tab with part of the session's statement."""

    tab_group = "money"
    empty_text = "Nothing was paid."
    loading_text = (Span(" · adding up every call of every thread", "dim"),)

    def __init__(self, host: InspectorState) -> None:
        self.statement: Statement | None = None
        super().__init__(host)

    @classmethod
    def ready(cls, host: InspectorState) -> bool:
        return host.loaded is not None and host.complete

    def load(self) -> Sequence[Row]:
        from ctxtui.services.workers.session_report import STATEMENT

        self.statement = self.host.report(STATEMENT)
        return self.listed(self.statement)

    @abstractmethod
    def listed(self, statement: Statement) -> Sequence[Row]:
        """Return the rows of this tab."""


class ShowAdvice(Command):
    """Close this list and show what would cost less from here on."""

    name, keys, label, group = "advice: what would help", ("exclamation_mark",), "advice", "money"
    run = Act(lambda: TotalScreen, lambda screen: screen.show_advice())


class TotalScreen(StatementList[BillLine]):
    """Parts of the bill, the most expensive blocks, durations of calls."""

    commands: ClassVar[tuple[type[Command], ...]] = (ShowAdvice,)
    heading = "bill"

    def listed(self, statement: Statement) -> Sequence[BillLine]:
        return bill.overview(statement, self.size.width - 2)

    def table(self, rows: Sequence[BillLine]) -> Table[BillLine]:
        return bill.LINE_TABLE

    def title_suffix(self, rows: Sequence[BillLine]) -> Spans:
        return bill.heading(self.statement)[1:] if self.statement is not None else ()

    def on_resize(self) -> None:
        if self.statement is not None:
            self.show(self.listed(self.statement))

    def sums_of_rule(self) -> Mapping[str, str]:
        return {ROW: bill.explain_total(self.statement)} if self.statement is not None else {}

    def show_advice(self) -> None:
        below = self.app.screen_stack[-2]
        self.dismiss(None)
        below.call_after_refresh(below.run_action, "command('AdviceList')")


class ToolCostScreen(StatementList[SpendingRow]):
    """Input cost of each tool with its calls and results, and the rest of the bill."""

    heading, order = "cost by tool", "cost"

    def listed(self, statement: Statement) -> Sequence[SpendingRow]:
        return statement.tools

    def table(self, rows: Sequence[SpendingRow]) -> Table[SpendingRow]:
        return bill.spending_table(rows, self.statement.bill.usd if self.statement is not None else None)

    def rule_notes(self, rows: Sequence[SpendingRow]) -> Spans:
        if self.statement is None:
            return ()
        return [
            Span(numbers.least(self.statement.bill.usd, self.statement.bill.at_least), "ink bold"),
            Span(" total", "dim"),
        ]

    def sums_of_rule(self) -> Mapping[str, str]:
        usd = self.statement.bill.usd if self.statement is not None else None
        return {ROW: sums.money_addition(usd, [row.usd for row in self.rows], "rows")}


class CategoryCostScreen(ToolCostScreen):
    """Input cost of each category of block, and the rest of the bill."""

    heading = "cost by category"

    def listed(self, statement: Statement) -> Sequence[SpendingRow]:
        return statement.categories
