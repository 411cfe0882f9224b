"""The diff of two calls, over their session."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from ctxtui.analysis.content.diff import Change
from ctxtui.tui.commands import Act, Command
from ctxtui.tui.lists.list_screen import PageScreen
from ctxtui.tui.widgets.pane import Pane
from ctxtui.views.glossary.spots import Spot
from ctxtui.views.lists.diff import DiffList, explain_change, explain_summary
from ctxtui.views.text import numbers
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.text.sums import ROW


class DiffPane(Pane):
    """Draws a `DiffList`; `title` says what is compared."""

    def __init__(self, title: Spans) -> None:
        super().__init__(title="diff", id="diff")
        self.data: DiffList | None = None
        self._title = title

    def show(self, data: DiffList) -> None:
        self.data = data
        self.opened = data.opened
        self.reload(cursor=0)

    def toggle_row(self) -> None:
        if self.data is not None and self.data.selectable(self.cursor):
            self.data.toggle(self.cursor)
            self.open_rows(self.data.opened)

    def toggle_whole(self) -> None:
        """Show all lines of changed blocks, or only those near a change."""
        if self.data is not None:
            self.data.whole = not self.data.whole
            self.reload()

    def sort(self) -> None:
        if self.data is not None:
            self.data.sort()
            self.opened = self.data.opened
            self.forget()
            self.reload(cursor=0)

    def step(self, step: int) -> None:
        """Go to the next or previous difference and scroll it to the top."""
        row = self._next_row(step)
        if row == self.cursor:
            return
        self.move_to(row)
        self.scroll_to_line(max(0, self.viewport.heights.line_of(row) - 1))

    @property
    def row_count(self) -> int:
        return len(self.data.rows) if self.data is not None else 0

    def row_height(self, index: int, width: int) -> int:
        return self.data.height(index, width) if self.data is not None else 1

    def render_row(self, index: int, line: int, width: int) -> Spans:
        assert self.data is not None
        return self.data.line(index, line, width, here=index == self.cursor)

    def selectable(self, index: int) -> bool:
        return self.data is None or self.data.selectable(index)

    def empty(self) -> Spans:
        return [Span("·", "faint")]

    def after(self) -> Spans:
        return self._title

    def notes(self) -> Spans:
        if self.data is None:
            return ()
        count = len(self.data.diff.changes)
        return [Span(numbers.many(count, "difference") if count else "the same", "dim")]


class _OnDiff(Command):
    group = "differences"


class NextDifference(_OnDiff):
    """Go to the next difference and scroll it to the top."""

    name, keys, shown, label, short_label = "next difference", ("n",), "n N", "differences", "next"
    help_partners, help_row = ("PreviousDifference",), ("n N", "next difference, previous difference")
    run = Act(lambda: DiffScreen, lambda screen: screen.pane.step(1))


class PreviousDifference(_OnDiff):
    """Go to the previous difference."""

    name, keys = "previous difference", ("N",)
    run = Act(lambda: DiffScreen, lambda screen: screen.pane.step(-1))


class OpenDifference(_OnDiff):
    """Open the difference in place, word by word, or fold it."""

    name, keys, label = "open or fold difference", ("enter",), "open"
    run = Act(lambda: DiffScreen, lambda screen: screen.pane.toggle_row())


class WholeBlocks(_OnDiff):
    """Show all lines of changed blocks, or only those near a change."""

    name, keys, label, short_label = "whole blocks or changes only", ("z",), "whole blocks", "whole"
    run = Act(lambda: DiffScreen, lambda screen: screen.pane.toggle_whole())


class SortBySize(_OnDiff):
    """Sort by size, largest first, or back to prompt order."""

    name, keys, label, short_label = "sort by size or position", ("S",), "by size", "size"
    run = Act(lambda: DiffScreen, lambda screen: screen.pane.sort())


class ShowInTranscript(_OnDiff):
    """Close the diff and go to the block in the context that contains it."""

    name, keys, label, short_label = "show in transcript", ("o",), "show in transcript", "show"
    run = Act(lambda: DiffScreen, lambda screen: screen.accept())


class DiffScreen(PageScreen[DiffList, Change]):
    """Shows the diff that `make` computes; closes with the change to show in the transcript."""

    commands: ClassVar[tuple[type[Command], ...]] = (
        NextDifference, OpenDifference, WholeBlocks, SortBySize, ShowInTranscript, PreviousDifference,
    )  # fmt: skip

    pane: DiffPane

    def __init__(self, title: Spans, make: Callable[[], DiffList], block: int = 0) -> None:
        self._block = block
        self.pane = DiffPane(title)
        super().__init__(self.pane)
        self._make = make

    def load(self) -> DiffList:
        return self._make()

    def show(self, diff: DiffList) -> None:
        """Show the diff with the cursor on the first difference at or after the requested block."""
        self.pane.show(diff)
        self.pane.move_to(next((row for row in range(len(diff.rows)) if self._depth(diff, row) >= self._block), 0))

    def _depth(self, diff: DiffList, row: int) -> int:
        """Return the position of a row's block in its context, from 1 with the headers.

        0 for no block.
        """
        change, tree = diff.change(row), diff.diff.b.book.session.tree
        node = (change.after or change.before) if change is not None else None
        return tree[node].depth if node else 0

    def fail(self, trouble: str) -> None:
        self.notify(trouble, severity="error")

    def on_pane_chosen(self, message: Pane.Chosen) -> None:
        self.pane.toggle_row()

    def sums(self, spot: Spot) -> Mapping[str, str]:
        data, row = self.pane.data, self.pane.row_under(spot.line)
        if data is None or spot.pane != "diff":
            return {}
        change = data.change(row) if row is not None else None
        return {ROW: explain_change(change) if change is not None else explain_summary(data.diff)}

    def accept(self) -> None:
        if self.pane.data is not None and (change := self.pane.data.change(self.pane.cursor)) is not None:
            self.dismiss(change)
