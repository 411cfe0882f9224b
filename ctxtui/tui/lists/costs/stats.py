"""Where tokens and money went over all sessions: by project, model, tool, week ..., one table at a time."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Final, Protocol

from ctxtui.analysis.money.usage_stats import WorstMiss
from ctxtui.tui.commands import Act, Command
from ctxtui.tui.lists.list_screen import ListScreen
from ctxtui.views.lists.costs import stats as view
from ctxtui.views.lists.costs.stats import StatRow
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.text.table import Table

if TYPE_CHECKING:
    from ctxtui.services.workers.stats_worker import StatsSoFar

WAYS: Final = ("project", "model", "tool", "source", "client-version", "skill", "day", "week", "5-hours")
"""What rows can be made by."""


MISSES: Final = "misses"
VIEWS: Final = (*WAYS, MISSES)
"""What is shown, in the order of the key that goes through it."""


class StatsSource(Protocol):
    """What makes the stats (`services.workers.stats_worker.StatsWorker`)."""

    def ask(self, by: str) -> StatsSoFar | None:
        """The stats as they are now, with rows by one of `WAYS`; for a worker thread."""

    def close(self) -> None:
        """No more."""


class NextStatsOrder(Command):
    """Order by the next column."""

    name, keys, label, group = "order of the rows", ("s",), "order", "lists"
    run = Act(lambda: StatsScreen, lambda screen: screen.next_order())


class NextWay(Command):
    """Rows by something else: project, model, tool, source, client version, skill, day, week, windows of 5 hours; then
    the worst misses."""

    name, keys, label, group = "rows by something else", ("tab", "b"), "by another", "lists"
    run = Act(lambda: StatsScreen, lambda screen: screen.turn(1))


class WayBefore(Command):
    """Rows by what they were made by before."""

    name, keys, group = "rows by the one before", ("shift+tab", "B"), "lists"
    run = Act(lambda: StatsScreen, lambda screen: screen.turn(-1))


class StatsScreen(ListScreen[StatRow, WorstMiss]):
    """The stats that `source` makes. Sessions that are not read yet are taken in as they are."""

    commands = (NextWay, WayBefore, NextStatsOrder)
    heading, none, again = "stats", view.NONE_YET, 2.0
    working: ClassVar[Spans] = (Span("looking into every session …", "dim"),)

    def __init__(self, source: StatsSource) -> None:
        self._source = source
        self._last: StatsSoFar | None = None
        self._way = 0
        super().__init__()

    @property
    def by(self) -> str:
        """What rows are made by; `MISSES` for the worst of them."""
        return VIEWS[self._way]

    def load(self) -> Sequence[StatRow]:
        """What is remembered of every session."""
        by = self.by
        found = self._source.ask("" if by == MISSES else by)
        if found is not None and by == self.by:
            self._last = found
        if self._last is None:
            return ()
        known = self._last.found
        if not known.total.calls and not self._last.left:
            # A row of nothing but dots says neither what is missing nor what to do.
            return ()
        if by == MISSES:
            return known.worst
        return known.tools if by == "tool" else [*known.rows, known.total]

    def choose(self, row: StatRow) -> WorstMiss | None:
        """A miss is looked at where it happened."""
        return row if isinstance(row, WorstMiss) else None

    def pause(self) -> float:
        """None, as long as it reads itself."""
        return 0.05 if self._last is not None and self._last.unread else super().pause()

    def settled(self, rows: Sequence[StatRow]) -> bool:
        """Once every session is read."""
        return self._last is not None and not self._last.left

    def table(self, rows: Sequence[StatRow]) -> Table[StatRow]:
        """Of tools, of misses, or of what else rows are made by."""
        return view.table_of(rows, self.by.replace("-", " "))

    def told(self, rows: Sequence[StatRow]) -> Spans:
        """The whole, the window of five hours that is open, the week."""
        return view.told(self._last.found, time.time()) if self._last is not None else ()

    def noted(self, rows: Sequence[StatRow]) -> Spans:
        """How many are not read, or not counted yet."""
        if self._last is None or not self._last.left:
            return ()
        unread, left = self._last.unread, self._last.left
        return [Span(f"{unread:,} not read yet" if unread else f"{left:,} not counted yet", "warn")]

    def turn(self, steps: int) -> None:
        """Show another one of `VIEWS`."""
        self._way = (self._way + steps) % len(VIEWS)
        # Rows that happen to be the same have another head all the same.
        self.order, self.rows = "", ()
        some = self._last is not None and self._last.found.total.calls
        self.pane.none = "No miss that lost money is known." if self.by == MISSES and some else self.none
        self.begin()

    def sums_of_rule(self) -> Mapping[str, str]:
        """The sums behind the figures of the whole."""
        return view.sums_of_told(self._last.found) if self._last is not None else {}

    def on_unmount(self) -> None:
        """What makes it ends with the screen."""
        self._source.close()
