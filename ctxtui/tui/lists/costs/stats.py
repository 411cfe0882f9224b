"""Tokens and cost over all sessions, by project, model, tool, week ..."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from ctxtui.analysis.money.usage_stats import Metric, SeenChange, WorstMiss
from ctxtui.core.errors import CtxtuiError
from ctxtui.services.library.totals.stat_changes import parse_change
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

GROUPINGS: Final = ("project", "model", "tool", "source", "client-version", "skill", "day", "week", "5-hours")


QUOTA, MISSES, CHANGES = "quota", "misses", "changes"
VIEWS: Final = (*GROUPINGS, QUOTA, MISSES, CHANGES)
"""Views in the order of their key; quota only if one was reported."""
_NO_ROWS_BY: Final = frozenset({QUOTA, MISSES, CHANGES})
"""Views that do not group rows by anything."""
EMPTY_TEXTS: Final = {
    MISSES: "No miss cost money.",
    CHANGES: "No session has a new version, policy, compressor or tag; D compares by any day.",
}
_DAY: Final = 86_400
AGES: Final = (0, _DAY, 7 * _DAY, 30 * _DAY, 90 * _DAY)
"""Age limits of calls in seconds, in the order of their key; 0: all."""
_WIDE_CELLS: Final = 120
"""Cells from which calls are shown next to sessions."""
_RULE_CELLS: Final = 9
"""Cells of the rule that are not text."""
_CHANGE_HINT: Final = "a day, client-version=, policy=, compressor=, tag="


class NextGrouping(Command):
    """Group rows by the next of project, model, tool, source, client version, skill, and time.

    Times are day, week or windows of 5 hours. Then come quotas that providers reported, the worst misses, and changes
    found in sessions: Enter compares before and after.
    """

    name, keys, label, group = "next grouping", ("tab",), "group by", "lists"
    run = Act(lambda: StatsScreen, lambda screen: screen.next_view(1))


class PreviousGrouping(Command):
    """Go back to the previous grouping."""

    name, keys, group = "previous grouping", ("shift+tab",), "lists"
    run = Act(lambda: StatsScreen, lambda screen: screen.next_view(-1))


class NextAge(Command):
    """Count only calls of the last day, 7 days, 30 days or 90 days, or all again."""

    name, keys, label, group = "calls of a period", ("w",), "since", "lists"
    run = Act(lambda: StatsScreen, lambda screen: screen.next_age())


class CompareByChange(Command):
    """Compare the calls before and after a change, each figure with its 95 % interval.

    A change is a day such as 2026-11-20, client-version=2.1.300 (from that version on), policy=NAME (sessions that
    ran under it), compressor=NAME (sessions that it shortened, against those shortened by others), or tag=NAME
    (sessions with that tag).
    """

    name, keys, label, group = "before and after a change", ("D",), "before/after", "lists"
    synonyms = ("compare", "version", "policy", "compressor", "tag", "difference")
    run = Act(lambda: StatsScreen, lambda screen: screen.ask_change())


class ComparisonScreen(ListScreen[Metric, None]):
    """Compares the calls of the last `age` seconds (0: of any time) before and after a `change`."""

    heading, empty_text, reload_seconds = "before and after", "There are no calls before or after the change.", 2.0
    esc_label: ClassVar[str] = "back"
    loading_text: ClassVar[Spans] = (Span("comparing …", "dim"),)

    def __init__(self, source: Worker[StatsMaker], change: str, age: float) -> None:
        self._source, self._change, self._age = source, change, age
        self._last: StatsSoFar | None = None
        super().__init__()

    def load(self) -> Sequence[Metric]:
        """Return the figures that at least one side has."""
        self._last = self._source.attempt(StatsMaker.make, "", self._age, self._change) or self._last
        comparison = self._last.stats.comparison if self._last is not None else None
        return view.available_metrics(comparison.metrics) if comparison is not None else ()

    def is_final(self, rows: Sequence[Metric]) -> bool:
        """Whether every session is read, or the worker ended before its first result."""
        return self._last is None or not self._last.left

    def table(self, rows: Sequence[Metric]) -> Table[Metric]:
        return view.metrics_table(mark=1)

    def title_suffix(self, rows: Sequence[Metric]) -> Spans:
        of_age = [Span(f"last {round(self._age / _DAY)} d · ", "accent")] if self._age else []
        return [*of_age, Span(safe_text.one_line(self._change, 60))]

    def rule_notes(self, rows: Sequence[Metric]) -> Spans:
        comparison = self._last.stats.comparison if self._last is not None else None
        if comparison is None:
            return ()
        wide = self.size.width >= _WIDE_CELLS
        return [Span(view.describe_sides(comparison) if wide else view.session_counts(comparison), "dim")]


class StatsScreen(ListScreen[StatRow, WorstMiss]):
    """The stats that `source` computes, updated while sessions are still being read."""

    commands = (NextGrouping, PreviousGrouping, NextAge, CompareByChange, OrderRows)
    heading, empty_text, reload_seconds = "stats", view.NONE_YET, 2.0
    loading_text: ClassVar[Spans] = (Span("reading all sessions …", "dim"),)

    def __init__(self, source: Worker[StatsMaker]) -> None:
        self._source = source
        self._last: StatsSoFar | None = None
        self._view = self._age = 0
        super().__init__()

    @property
    def by(self) -> str:
        """The grouping of rows, or `QUOTA`, `MISSES` or `CHANGES`."""
        return VIEWS[self._view]

    @property
    def age(self) -> int:
        """Age limit of calls in seconds; 0: none."""
        return AGES[self._age]

    def load(self) -> Sequence[StatRow]:
        by, age = self.by, self.age
        stats = self._source.attempt(StatsMaker.make, "" if by in _NO_ROWS_BY else by, age)
        if stats is not None and (by, age) == (self.by, self.age):
            self._last = stats
        if self._last is None:
            return ()
        totals = self._last.stats
        if not totals.total.calls and not self._last.left:
            # A row of dots would not explain anything.
            return ()
        if by in (MISSES, CHANGES):
            return totals.worst if by == MISSES else totals.changes
        if by == QUOTA:
            return totals.reported
        return totals.tools if by == "tool" else [*totals.rows, totals.total]

    def choose(self, row: StatRow) -> WorstMiss | None:
        """Return a miss, to open it; for a change, open the comparison."""
        if isinstance(row, SeenChange):
            self.compare(row.words)
        return row if isinstance(row, WorstMiss) else None

    def pause(self) -> float:
        """Return almost no time while sessions are read."""
        return 0.05 if self._last is not None and self._last.unread else super().pause()

    def is_final(self, rows: Sequence[StatRow]) -> bool:
        return self._last is not None and not self._last.left

    def table(self, rows: Sequence[StatRow]) -> Table[StatRow]:
        return view.table_for_rows(rows, self.by.replace("-", " "), time.time())

    def title_suffix(self, rows: Sequence[StatRow]) -> Spans:
        """Return totals, the open window of five hours, and the week, without what does not fit."""
        if self._last is None:
            return ()
        of_age = [Span(f"last {self.age // _DAY} d · ", "accent")] if self.age else []
        room = self.size.width - width([*of_age, *self.rule_notes(rows)]) - len(self.heading) - _RULE_CELLS
        return [*of_age, *view.summary_line(self._last.stats, time.time(), room)]

    def on_resize(self) -> None:
        self.update_rule()

    def rule_notes(self, rows: Sequence[StatRow]) -> Spans:
        if self._last is None or not self._last.left:
            return ()
        unread, left = self._last.unread, self._last.left
        words = f"{unread:,} not read yet" if unread else f"{left:,} not counted yet"
        why = f" ({self._last.reread_reason})" if self._last.reread_reason and self.size.width >= _WIDE_CELLS else ""
        return [Span(words + why, "warn")]

    def next_view(self, steps: int) -> None:
        self._view = (self._view + steps) % len(VIEWS)
        if self.by == QUOTA and not (self._last is not None and self._last.stats.reported):
            self._view = (self._view + steps) % len(VIEWS)
        # Even if the rows are the same, the heads differ.
        self.order, self.rows = "", ()
        self.pane.none = self._empty_text()
        self.begin()

    def _empty_text(self) -> str:
        """Return the text without rows: nothing of this kind, of this time, or at all."""
        if self._last is not None and self._last.stats.total.calls:
            return EMPTY_TEXTS.get(self.by, self.empty_text)
        return "No session has a call in this period." if self._age else self.empty_text

    def next_age(self) -> None:
        self._age = (self._age + 1) % len(AGES)
        self.rows = ()
        self.pane.none = self._empty_text()
        self.begin()

    def compare(self, change: str) -> None:
        self.app.push_screen(ComparisonScreen(self._source, change, self.age))

    def ask_change(self) -> None:
        self.prompt.ask(
            Question([Span("before and after: ", "accent")], self._compare_by, right=[Span(_CHANGE_HINT, "faint")])
        )

    def _compare_by(self, text: str) -> None:
        if not text.strip():
            return
        try:
            parse_change(text)
        except CtxtuiError as error:
            self.show_message([Span(f"{error.message}: {_CHANGE_HINT}", "warn")])
        else:
            self.compare(text.strip())

    def sums_of_rule(self) -> Mapping[str, str]:
        return view.explain_summary(self._last.stats) if self._last is not None else {}

    def on_unmount(self) -> None:
        self._source.close()
