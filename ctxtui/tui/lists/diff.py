"""The diff of two calls over the session that they belong to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from ctxtui.analysis.content.diff import Change
from ctxtui.tui.commands import Act, Command
from ctxtui.tui.lists.list_screen import PageScreen
from ctxtui.tui.widgets.pane import Pane
from ctxtui.views.glossary.spots import Spot
from ctxtui.views.lists.diff import DiffList, explain_change, explain_summary
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.text.sums import ROW


class DiffPane(Pane):
    """Draws a `DiffList`; until there is one it says what is being compared."""

    def __init__(self, named: Spans) -> None:
        super().__init__(title="diff", id="diff")
        self.data: DiffList | None = None
        self._named = named

    def show(self, data: DiffList) -> None:
        """The diff is there."""
        self.data = data
        self.opened = data.opened
        self.reload(cursor=0)

    def toggle_row(self) -> None:
        """Open the row under the cursor, or fold it."""
        if self.data is not None and self.data.selectable(self.cursor):
            self.data.toggle(self.cursor)
            self.open_rows(self.data.opened)

    def toggle_whole(self) -> None:
        """All lines of changed blocks, or only those near a change."""
        if self.data is not None:
            self.data.whole = not self.data.whole
            self.reload()

    def sort(self) -> None:
        """The largest differences first, or in prompt order again."""
        if self.data is not None:
            self.data.sort()
            self.opened = self.data.opened
            self.forget()
            self.reload(cursor=0)

    def step(self, step: int) -> None:
        """To the next difference, or the one before; it stands at the top as far as it can."""
        row = self._stepped(step)
        if row == self.cursor:
            return
        self.move_to(row)
        self.scroll_to_line(max(0, self.viewport.heights.line_of(row) - 1))

    @property
    def row_count(self) -> int:
        """How many rows there are."""
        return len(self.data.rows) if self.data is not None else 0

    def row_height(self, index: int, width: int) -> int:
        """Lines of an open row."""
        return self.data.height(index, width) if self.data is not None else 1

    def render_row(self, index: int, line: int, width: int) -> Spans:
        """One line of a row."""
        assert self.data is not None
        return self.data.line(index, line, width, here=index == self.cursor)

    def selectable(self, index: int) -> bool:
        """Only differences take the cursor."""
        return self.data is None or self.data.selectable(index)

    def empty(self) -> Spans:
        """While it is worked out."""
        return [Span("·", "faint")]

    def after(self) -> Spans:
        """What is compared."""
        return self._named

    def notes(self) -> Spans:
        """How many differences there are."""
        if self.data is None:
            return ()
        count = len(self.data.diff.changes)
        return [Span(f"{count:,} difference{'s' if count != 1 else ''}" if count else "the same", "dim")]


class _OnDiff(Command):
    group = "differences"


class NextDifference(_OnDiff):
    """The next difference, brought to the top."""

    name, keys, shown, label, short = "next difference", ("n",), "n N", "differences", "next"
    beside, together = ("PreviousDifference",), ("n N", "next difference, previous difference")
    run = Act(lambda: DiffScreen, lambda screen: screen.pane.step(1))


class PreviousDifference(_OnDiff):
    """The difference before."""

    name, keys = "previous difference", ("N",)
    run = Act(lambda: DiffScreen, lambda screen: screen.pane.step(-1))


class OpenDifference(_OnDiff):
    """Open the difference in place, word by word, or fold it."""

    name, keys, label = "open or fold difference", ("enter",), "open"
    run = Act(lambda: DiffScreen, lambda screen: screen.pane.toggle_row())


class WholeBlocks(_OnDiff):
    """All lines of changed blocks, or only those near a change."""

    name, keys, label, short = "whole blocks or changes only", ("z",), "whole blocks", "whole"
    run = Act(lambda: DiffScreen, lambda screen: screen.pane.toggle_whole())


class SortBySize(_OnDiff):
    """The largest differences first, or in prompt order again."""

    name, keys, label, short = "order by size or place", ("S",), "by size", "size"
    run = Act(lambda: DiffScreen, lambda screen: screen.pane.sort())


class ShowInTranscript(_OnDiff):
    """Close the diff, and go to the block in the context that has it."""

    name, keys, label, short = "show in transcript", ("o",), "show in transcript", "show"
    run = Act(lambda: DiffScreen, lambda screen: screen.take())


class DiffScreen(PageScreen[DiffList, Change]):
    """Shows what `make` works out; closes with the change that is to be shown in the transcript."""

    commands: ClassVar[tuple[type[Command], ...]] = (
        NextDifference, OpenDifference, WholeBlocks, SortBySize, ShowInTranscript, PreviousDifference,
    )  # fmt: skip

    pane: DiffPane

    def __init__(self, named: Spans, make: Callable[[], DiffList], block: int = 0) -> None:
        self._block = block
        self.pane = DiffPane(named)
        super().__init__(self.pane)
        self._make = make

    def load(self) -> DiffList:
        """Comparing takes as long as the contexts differ."""
        return self._make()

    def show(self, what: DiffList) -> None:
        """It is there; the cursor is on the first difference from the block asked for on."""
        self.pane.show(what)
        self.pane.move_to(next((row for row in range(len(what.rows)) if self._depth(what, row) >= self._block), 0))

    def _depth(self, what: DiffList, row: int) -> int:
        """Which block of its context a row is about, from 1 with the headers; 0: about none."""
        change, tree = what.change(row), what.diff.b.book.session.tree
        node = (change.after or change.before) if change is not None else None
        return tree[node].depth if node else 0

    def fail(self, trouble: str) -> None:
        """The calls cannot be compared."""
        self.notify(trouble, severity="error")

    def on_pane_chosen(self, message: Pane.Chosen) -> None:
        """Enter opens a row."""
        self.pane.toggle_row()

    def sums(self, spot: Spot) -> Mapping[str, str]:
        """What the figures of a line are made of."""
        data, row = self.pane.data, self.pane.row_under(spot.line)
        if data is None or spot.pane != "diff":
            return {}
        change = data.change(row) if row is not None else None
        return {ROW: explain_change(data.diff, change) if change is not None else explain_summary(data.diff)}

    def take(self) -> None:
        """Close, and show the block under the cursor in its context."""
        if self.pane.data is not None and (change := self.pane.data.change(self.pane.cursor)) is not None:
            self.dismiss(change)
