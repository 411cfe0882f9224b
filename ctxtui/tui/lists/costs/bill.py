"""The bill over the session that it is about: its parts, dearest rewrites and blocks, cures, times."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from textual.binding import Binding, BindingType

from ctxtui.analysis.money.statement import Statement
from ctxtui.tui.lists.list_screen import CallAt, ListHost, PageScreen, overlay_bindings
from ctxtui.tui.widgets.pane import Pane
from ctxtui.views.glossary.spots import Spot
from ctxtui.views.lists.costs import bill
from ctxtui.views.lists.costs.bill_parts import BillLine
from ctxtui.views.text import safe_text
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.text.sums import ROW


class BillPane(Pane):
    """The statement's lines; Enter on a rewrite or a cure goes to its call."""

    def __init__(self) -> None:
        super().__init__(title="bill", id="bill")
        self.lines: list[BillLine] = []
        self._what: Statement | None = None
        self._trouble = ""

    def show(self, what: Statement) -> None:
        """The statement is made."""
        self._what = what
        self.reload()
        self.refresh_rule()

    def fail(self, trouble: str) -> None:
        """It could not be made."""
        self._trouble = trouble
        self.refresh()

    def measure(self) -> None:
        """Another width gives other lines."""
        self.lines = list(lines(self._what, self.body_width)) if self._what is not None else []
        self.cursor = min(self.cursor, max(0, len(self.lines) - 1))
        super().measure()

    @property
    def row_count(self) -> int:
        """Lines of the statement."""
        return len(self.lines)

    def selectable(self, index: int) -> bool:
        """Lines that lead to a call."""
        return index < len(self.lines) and self.lines[index].call is not None

    def render_row(self, index: int, line: int, width: int) -> Spans:
        """A line, with the cursor's mark where it leads somewhere."""
        here = self.lines[index]
        mark = Span("▸" if index == self.cursor and here.call else " ", "accent")
        return [mark, *here.spans]

    def empty(self) -> Spans:
        """While it is made, or why it could not be."""
        if self._trouble:
            return [Span(f" ▲ {safe_text.one_line(self._trouble, 400)}", "warn")]
        return [Span(" · adding up every call of every thread", "dim")]

    def notes(self) -> Spans:
        """The keys."""
        keys = [Span("⏎", "accent bold"), Span(" to the call  ", "dim")] if any(one.call for one in self.lines) else []
        return [*keys, Span("esc", "accent bold"), Span(" close", "dim")]


def lines(what: Statement, room: int) -> list[BillLine]:
    """Every line of the page: head, sum, sections."""
    whole = f"{bill.sum_of_all(what)}."
    out = [BillLine(bill.head(what), sum=whole)]
    out += [
        BillLine([Span(f" {words}", "ink")], sum=whole)
        for words in safe_text.wrap(bill.sentence(what), max(20, room - 3))
    ]
    for title, note, rows in bill.sections(what, room - 1):
        aside = [Span(f"  {note}", "faint")] if note else []
        out += [BillLine([]), BillLine([Span(f" {title}", "accent bold"), *aside]), *rows]
    return out


class BillScreen(PageScreen[Statement, CallAt]):
    """The statement, worked out behind the screen; closes with the call that was chosen."""

    foot = False
    BINDINGS: ClassVar[list[BindingType]] = [
        *overlay_bindings(()),
        Binding("dollar_sign", "dismiss(None)", show=False),
        Binding("exclamation_mark", "advice", show=False),
    ]

    def __init__(self, host: ListHost) -> None:
        self.host = host
        self.pane = BillPane()
        super().__init__(self.pane)

    @classmethod
    def ready(cls, host: ListHost) -> bool:
        """Once all is read."""
        return host.loaded is not None and host.complete

    def load(self) -> Statement:
        """Add up every call."""
        return self.host.statement()

    def show(self, what: Statement) -> None:
        """It is made."""
        self.pane.show(what)

    def fail(self, trouble: str) -> None:
        """It could not be made."""
        self.pane.fail(trouble)

    def on_pane_chosen(self, message: Pane.Chosen) -> None:
        """To the call that the line is about."""
        here = self.pane.lines[message.index] if message.index < len(self.pane.lines) else None
        if here is not None and here.call is not None:
            self.dismiss(here.call)

    def sums(self, spot: Spot) -> Mapping[str, str]:
        """What the figures of a line are made of."""
        row = self.pane.row_under(spot.line) if spot.pane == "bill" else None
        return {ROW: self.pane.lines[row].sum} if row is not None and row < len(self.pane.lines) else {}

    def action_advice(self) -> None:
        """To the list of what would help, where it can be staged."""
        below = self.app.screen_stack[-2]
        self.dismiss(None)
        below.call_after_refresh(below.run_action, "command('AdviceList')")

    def done(self, result: CallAt) -> None:
        """Show the call."""
        self.host.to_call(*result)
