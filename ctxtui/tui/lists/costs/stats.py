"""Where tokens and money went over all sessions: by project, model, tool, week ..., one table at a time."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from ctxtui.analysis.money.usage_stats import Metric, SeenChange, WorstMiss
from ctxtui.core.errors import CtxtuiError
from ctxtui.services.library.totals.stat_changes import change_of
from ctxtui.services.worker import Worker
from ctxtui.services.workers.totals_worker import StatsMaker, StatsSoFar
from ctxtui.tui.commands import Act, Command
from ctxtui.tui.lists.list_screen import ListScreen, OrderRows
from ctxtui.tui.widgets.prompt_line import Question
from ctxtui.views.lists.costs import stats as view
from ctxtui.views.lists.costs.stats import StatRow
from ctxtui.views.text import safe_text
from ctxtui.views.text.span import Span, Spans, width
from ctxtui.views.text.table import Table

WAYS: Final = ("project", "model", "tool", "source", "client-version", "skill", "day", "week", "5-hours")
"""What rows can be made by."""


QUOTA, MISSES, CHANGES = "quota", "misses", "changes"
VIEWS: Final = (*WAYS, QUOTA, MISSES, CHANGES)
"""What is shown, in the order of the key that goes through it; the quota where one was reported."""
_NO_ROWS_BY: Final = frozenset({QUOTA, MISSES, CHANGES})
NONE: Final = {
    MISSES: "No miss that lost money is known.",
    CHANGES: "No session tells of a new version, policy or compressor, or has a tag; c compares by any day.",
}
_DAY: Final = 86_400
AGES: Final = (0, _DAY, 7 * _DAY, 30 * _DAY, 90 * _DAY)
"""Seconds back from now of which calls count, in the order of the key that goes through it; 0: all."""
_WIDE: Final = 120
"""Cells from which calls are told beside sessions."""
_AROUND: Final = 9
"""Cells of the rule beside what it says."""
_CHANGES: Final = "a day, client-version=, policy=, compressor=, tag="


class NextWay(Command):
    """Rows by something else: project, model, tool, source, client version, skill, day, week, windows of 5 hours; then
    quotas as providers report them (where one did), the worst misses, and the changes that sessions tell of: Enter
    holds before against after."""

    name, keys, label, group = "rows by something else", ("tab",), "by another", "lists"
    run = Act(lambda: StatsScreen, lambda screen: screen.turn(1))


class WayBefore(Command):
    """Rows by what they were made by before."""

    name, keys, group = "rows by the one before", ("shift+tab",), "lists"
    run = Act(lambda: StatsScreen, lambda screen: screen.turn(-1))


class NextAge(Command):
    """Only calls of the last day, 7 days, 30 days, 90 days; or all again."""

    name, keys, label, group = "calls since", ("w",), "since", "lists"
    run = Act(lambda: StatsScreen, lambda screen: screen.next_age())


class CompareByChange(Command):
    """Hold the calls before a change against those after it, each figure with its 95 % interval: a day such as
    2026-11-20, client-version=2.1.300 (from that version on), policy=NAME (sessions that ran under it), compressor=NAME
    (sessions that it made smaller, against those that others did), or tag=NAME (the sessions that you tagged so)."""

    name, keys, label, group = "before and after a change", ("D",), "before/after", "lists"
    sought = ("compare", "version", "policy", "compressor", "tag", "difference")
    run = Act(lambda: StatsScreen, lambda screen: screen.ask_change())


class ComparisonScreen(ListScreen[Metric, None]):
    """The calls of the last `age` seconds before a `change` against those after it."""

    heading, none, again = "before and after", "No call on either side.", 2.0
    leave: ClassVar[str] = "back"
    working: ClassVar[Spans] = (Span("comparing …", "dim"),)

    def __init__(self, source: Worker[StatsMaker], change: str, age: float) -> None:
        self._source, self._change, self._age = source, change, age
        self._last: StatsSoFar | None = None
        super().__init__()

    def load(self) -> Sequence[Metric]:
        """The figures that either side has."""
        self._last = self._source.attempt(StatsMaker.make, "", self._age, self._change) or self._last
        found = self._last.stats.comparison if self._last is not None else None
        return view.available_metrics(found.metrics) if found is not None else ()

    def settled(self, rows: Sequence[Metric]) -> bool:
        """Once every session is read."""
        return self._last is None or not self._last.left

    def table(self, rows: Sequence[Metric]) -> Table[Metric]:
        """Each figure before and after, and the difference."""
        return view.metrics_table(mark=1)

    def told(self, rows: Sequence[Metric]) -> Spans:
        """What changed."""
        of_age = [Span(f"last {round(self._age / _DAY)} d · ", "accent")] if self._age else []
        return [*of_age, Span(safe_text.one_line(self._change, 60))]

    def noted(self, rows: Sequence[Metric]) -> Spans:
        """How much there is on either side."""
        found = self._last.stats.comparison if self._last is not None else None
        if found is None:
            return ()
        wide = self.size.width >= _WIDE
        return [Span(view.describe_sides(found) if wide else view.session_counts(found), "dim")]


class StatsScreen(ListScreen[StatRow, WorstMiss]):
    """The stats that `source` makes. Sessions that are not read yet are taken in as they are."""

    commands = (NextWay, WayBefore, NextAge, CompareByChange, OrderRows)
    heading, none, again = "stats", view.NONE_YET, 2.0
    working: ClassVar[Spans] = (Span("looking into every session …", "dim"),)

    def __init__(self, source: Worker[StatsMaker]) -> None:
        self._source = source
        self._last: StatsSoFar | None = None
        self._way = self._age = 0
        super().__init__()

    @property
    def by(self) -> str:
        """What rows are made by; `MISSES` for the worst of them, `CHANGES` for what can be compared."""
        return VIEWS[self._way]

    @property
    def age(self) -> int:
        """Calls of the last so many seconds count; 0: all."""
        return AGES[self._age]

    def load(self) -> Sequence[StatRow]:
        """What is remembered of every session."""
        by, age = self.by, self.age
        found = self._source.attempt(StatsMaker.make, "" if by in _NO_ROWS_BY else by, age)
        if found is not None and (by, age) == (self.by, self.age):
            self._last = found
        if self._last is None:
            return ()
        known = self._last.stats
        if not known.total.calls and not self._last.left:
            # A row of nothing but dots says neither what is missing nor what to do.
            return ()
        if by in (MISSES, CHANGES):
            return known.worst if by == MISSES else known.changes
        if by == QUOTA:
            return known.reported
        return known.tools if by == "tool" else [*known.rows, known.total]

    def choose(self, row: StatRow) -> WorstMiss | None:
        """A miss is looked at where it happened, a change by what it did."""
        if isinstance(row, SeenChange):
            self.compare(row.words)
        return row if isinstance(row, WorstMiss) else None

    def pause(self) -> float:
        """None, as long as it reads itself."""
        return 0.05 if self._last is not None and self._last.unread else super().pause()

    def settled(self, rows: Sequence[StatRow]) -> bool:
        """Once every session is read."""
        return self._last is not None and not self._last.left

    def table(self, rows: Sequence[StatRow]) -> Table[StatRow]:
        """Of tools, of misses, or of what else rows are made by."""
        return view.table_for_rows(rows, self.by.replace("-", " "), time.time())

    def told(self, rows: Sequence[StatRow]) -> Spans:
        """The whole, the window of five hours that is open, the week."""
        if self._last is None:
            return ()
        of_age = [Span(f"last {self.age // _DAY} d · ", "accent")] if self.age else []
        room = self.size.width - width([*of_age, *self.noted(rows)]) - len(self.heading) - _AROUND
        return [*of_age, *view.summary_line(self._last.stats, time.time(), room)]

    def on_resize(self) -> None:
        """The rule says as much as there is room for."""
        self.tell()

    def noted(self, rows: Sequence[StatRow]) -> Spans:
        """How many are not read, or not counted yet."""
        if self._last is None or not self._last.left:
            return ()
        unread, left = self._last.unread, self._last.left
        words = f"{unread:,} not read yet" if unread else f"{left:,} not counted yet"
        why = f" ({self._last.reread_reason})" if self._last.reread_reason and self.size.width >= _WIDE else ""
        return [Span(words + why, "warn")]

    def turn(self, steps: int) -> None:
        """Show another one of `VIEWS`."""
        self._way = (self._way + steps) % len(VIEWS)
        if self.by == QUOTA and not (self._last is not None and self._last.stats.reported):
            self._way = (self._way + steps) % len(VIEWS)
        # Rows that happen to be the same have another head all the same.
        self.order, self.rows = "", ()
        self.pane.none = self._nothing()
        self.begin()

    def _nothing(self) -> str:
        """What to say where there are no rows: nothing of this kind, nothing of this time, nothing at all."""
        if self._last is not None and self._last.stats.total.calls:
            return NONE.get(self.by, self.none)
        return "No session has a call of this time." if self._age else self.none

    def next_age(self) -> None:
        """Calls of another time."""
        self._age = (self._age + 1) % len(AGES)
        self.rows = ()
        self.pane.none = self._nothing()
        self.begin()

    def compare(self, change: str) -> None:
        """What a change did."""
        self.app.push_screen(ComparisonScreen(self._source, change, self.age))

    def ask_change(self) -> None:
        """Ask for a change in the user's words."""
        self.prompt.ask(
            Question([Span("before and after: ", "accent")], self._compare_by, right=[Span(_CHANGES, "faint")])
        )

    def _compare_by(self, text: str) -> None:
        if not text.strip():
            return
        try:
            change_of(text)
        except CtxtuiError as error:
            self.said.say([Span(f"{error.message}: {_CHANGES}", "warn")])
        else:
            self.compare(text.strip())

    def sums_of_rule(self) -> Mapping[str, str]:
        """The sums behind the figures of the whole."""
        return view.explain_summary(self._last.stats) if self._last is not None else {}

    def on_unmount(self) -> None:
        """What makes it ends with the screen."""
        self._source.close()
