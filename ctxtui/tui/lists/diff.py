"""The diff of two calls over the session that they belong to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from ctxtui.analysis.content.diff import Change
from ctxtui.tui.commands import Act, Command
from ctxtui.tui.lists.list_screen import PageScreen
from ctxtui.tui.widgets.diff_pane import DiffPane
from ctxtui.tui.widgets.pane import Pane
from ctxtui.views.glossary.spots import Spot
from ctxtui.views.lists.diff import DiffList, sum_of, sum_of_total
from ctxtui.views.text.span import Spans
from ctxtui.views.text.sums import ROW


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
        change, tree = what.change(row), what.found.b.book.session.tree
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
        return {ROW: sum_of(data.found, change) if change is not None else sum_of_total(data.found)}

    def take(self) -> None:
        """Close, and show the block under the cursor in its context."""
        if self.pane.data is not None and (change := self.pane.data.change(self.pane.cursor)) is not None:
            self.dismiss(change)
