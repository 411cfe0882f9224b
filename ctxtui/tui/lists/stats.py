"""Where tokens and money went over all sessions: by project, model, tool, week ..., one table at a time."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Final, Protocol

from ctxtui.tui.commands import Act, Command
from ctxtui.tui.lists.list_screen import ListScreen
from ctxtui.views.lists import stats as view
from ctxtui.views.lists.stats import StatRow
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.text.table import Table

if TYPE_CHECKING:
    from ctxtui.services.workers.stats_worker import StatsSoFar

WAYS: Final = ("project", "model", "tool", "source", "client-version", "skill", "day", "week", "5-hours")
"""What rows can be made by, in the order of the key that goes through them."""


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
    """Rows by something else: project, model, tool, source, client version, skill, day, week, windows of 5 hours."""

    name, keys, label, group = "rows by something else", ("tab", "b"), "by another", "lists"
    run = Act(lambda: StatsScreen, lambda screen: screen.turn(1))


class WayBefore(Command):
    """Rows by what they were made by before."""

    name, keys, group = "rows by the one before", ("shift+tab", "B"), "lists"
    run = Act(lambda: StatsScreen, lambda screen: screen.turn(-1))


class StatsScreen(ListScreen[StatRow, None]):
    """The stats that `source` makes. Sessions that are not read yet are taken in as they are."""

    commands = (NextWay, WayBefore, NextStatsOrder)
    heading, none, again = "stats", "No session has a call of this time.", 2.0
    working: ClassVar[Spans] = (Span("looking into every session …", "dim"),)

    def __init__(self, source: StatsSource) -> None:
        self._source = source
        self._last: StatsSoFar | None = None
        self._way = 0
        super().__init__()

    @property
    def by(self) -> str:
        """What rows are made by."""
        return WAYS[self._way]

    def load(self) -> Sequence[StatRow]:
        """What is remembered of every session."""
        by = self.by
        found = self._source.ask(by)
        if found is not None and by == self.by:
            self._last = found
        if self._last is None:
            return ()
        return self._last.found.tools if by == "tool" else [*self._last.found.rows, self._last.found.total]

    def settled(self, rows: Sequence[StatRow]) -> bool:
        """Once every session is read."""
        return self._last is not None and not self._last.left

    def table(self, rows: Sequence[StatRow]) -> Table[StatRow]:
        """Of tools, or of what else rows are made by."""
        return view.table_of(rows, self.by.replace("-", " "))

    def told(self, rows: Sequence[StatRow]) -> Spans:
        """The whole, the window of five hours that is open, the week."""
        return view.told(self._last.found, time.time()) if self._last is not None else ()

    def noted(self, rows: Sequence[StatRow]) -> Spans:
        """How many are not read yet."""
        left = self._last.left if self._last is not None else 0
        return [Span(f"{left:,} not read yet", "warn")] if left else ()

    def turn(self, steps: int) -> None:
        """Make rows by another one of `WAYS`."""
        self._way = (self._way + steps) % len(WAYS)
        # Rows that happen to be the same have another head all the same.
        self.order, self.rows = "", ()
        self.begin()

    def sums_of_rule(self) -> Mapping[str, str]:
        """The sums behind the figures of the whole."""
        return view.sums_of_told(self._last.found) if self._last is not None else {}

    def on_unmount(self) -> None:
        """What makes it ends with the screen."""
        self._source.close()
