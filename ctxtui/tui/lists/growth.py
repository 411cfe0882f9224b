"""The growth of the thread: a chart by category, sentences about it, and phases."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Final

from msgspec import Struct
from msgspec.structs import replace
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.message import Message

from ctxtui.analysis.growth.feasible import GrowthReport, check_feasibility
from ctxtui.core.errors import CtxtuiError
from ctxtui.tui.commands import Act, Command
from ctxtui.tui.lists.list_screen import ListScreen
from ctxtui.tui.theme.theme import look_of
from ctxtui.tui.widgets.board import Board
from ctxtui.views.glossary.spots import Spot
from ctxtui.views.inspector import stacked_chart
from ctxtui.views.inspector.stacked_chart import StackedChart
from ctxtui.views.lists import growth as views
from ctxtui.views.lists import phases
from ctxtui.views.lists.phases import GrownPhase
from ctxtui.views.text import safe_text
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.text.sums import ROW
from ctxtui.views.text.table import Table

NAME_PHASE: Final = 0
"""Result of the screen to name a phase that starts with the call shown."""
WIDE_CELLS: Final = 160
"""Cells from which sentences are shown next to the chart."""
_LIST_LINES: Final = 5
"""Lines kept for the list below the sentences: rule, head, two rows, key line."""


class GrowthFigures(Struct, frozen=True):
    """Chart and phases, from the figures known so far.

    `error` is why the phases cannot be found, or "".
    """

    chart: StackedChart
    phases: Sequence[GrownPhase]
    error: str = ""


class NamePhaseHere(Command):
    """Name the phase that starts with the call shown, by a note on that call, ``phase: name``."""

    name, keys, label, short_label, group = "name a phase here", ("number_sign",), "name a phase here", "name", "phases"
    run = Act(lambda: GrowthScreen, lambda screen: screen.dismiss(NAME_PHASE))


class EverySentence(Command):
    """Show all sentences about the growth in place of the chart, or the chart again."""

    name, keys, label, short_label, group = "all sentences, or the chart", ("tab",), "all sentences", "words", "phases"
    run = Act(lambda: GrowthScreen, lambda screen: screen.toggle_sentences())


class ChartBoard(Board):
    """Each call by category."""

    def __init__(self) -> None:
        super().__init__(title="growth", id="chart")
        self.chart: StackedChart | None = None

    def draw(self, width: int, height: int) -> Sequence[Spans]:
        if self.chart is None:
            return [[Span(" ·", "dim")]]
        return stacked_chart.lines(self.chart, width, height, colour=look_of(self.app).coloured)

    def notes(self) -> Spans:
        return stacked_chart.legend(self.chart, self.body_width - 14) if self.chart is not None else ()


class WordsBoard(Board):
    """Sentences: shape of the growth, carried tokens, outlook."""

    def __init__(self) -> None:
        super().__init__(title="what that means", id="means")
        self.report: GrowthReport | None = None
        self.error = ""

    def draw(self, width: int, height: int) -> Sequence[Spans]:
        """Draw the sentences; the least important are left out if space is short."""
        if self.error:
            return [[Span(f" ▲ {safe_text.one_line(self.error, 400)}", "warn")]]
        if self.report is None:
            return [[Span(" · reading all calls and computing the outlook", "dim")]]
        return views.wrap(self.report, width, height)

    def notes(self) -> Spans:
        if self.report is None or self.error:
            return ()
        more = views.count_left_out(self.report, self.body_width, self.body_height)
        return [Span(f"{more:,} more: tab", "dim")] if more else ()

    def needed_lines(self, width: int) -> int:
        """Return the lines of all sentences, with the rule above them."""
        return 1 + len(views.wrap(self.report, width)) if self.report is not None else 0


class GrowthReported(Message):
    """The sentences are ready, or computing them failed with `error`."""

    def __init__(self, report: GrowthReport | None, error: str = "") -> None:
        super().__init__()
        self.report = report
        self.error = error


class GrowthScreen(ListScreen[GrownPhase, int]):
    """Chart and phases of a thread; closes with the number of a call, or `NAME_PHASE`.

    `make` is called again until all phases are priced; `report` takes time and runs once. `number` is the call shown.
    """

    commands: ClassVar[tuple[type[Command], ...]] = (NamePhaseHere, EverySentence)
    heading, empty_text = "phases", "No call is recorded."
    DEFAULT_CSS = """
    GrowthScreen #above { height: 16; }
    GrowthScreen #above.high { layout: vertical; }
    GrowthScreen #phases { height: 1fr; }
    """

    def __init__(self, make: Callable[[], GrowthFigures], report: Callable[[], GrowthReport], number: int) -> None:
        self._make, self._report, self._number = make, report, number
        self._chart, self._sentences = ChartBoard(), WordsBoard()
        self._above = Horizontal(self._chart, self._sentences, id="above")
        self._figures: GrowthFigures | None = None
        self._sentences_only = False
        super().__init__()

    def compose(self) -> ComposeResult:
        yield self._above
        yield from super().compose()

    def on_mount(self) -> None:
        self.run_worker(self._compute_report, thread=True, group="growth")

    def on_resize(self) -> None:
        self._arrange()

    def toggle_sentences(self) -> None:
        self._sentences_only = not self._sentences_only
        self._arrange()

    def _arrange(self) -> None:
        """Place the chart beside the sentences if it is wide enough, else above them."""
        wide, height = self.size.width >= WIDE_CELLS, self.size.height
        self._above.set_class(not wide, "high")
        self._chart.display = not self._sentences_only
        room = max(10, height * 6 // 10)
        if self._sentences_only:
            # Show all sentences, but keep rule, head and two rows of the list.
            room = min(max(room, self._sentences.needed_lines(self.size.width)), height - _LIST_LINES)
        self._above.styles.height = max(8, height * 45 // 100) if wide and not self._sentences_only else room
        self._chart.styles.height = "1fr" if wide else max(5, room * 45 // 100)
        self._chart.styles.width = "3fr" if wide else "1fr"
        self._sentences.styles.width = "2fr" if wide else "1fr"
        self._sentences.join = "┬" if wide else ""
        self._sentences.redraw()

    def _compute_report(self) -> None:
        try:
            message = GrowthReported(self._report())
        except CtxtuiError as error:
            message = GrowthReported(None, str(error))
        self.post_message(message)

    def on_growth_reported(self, message: GrowthReported) -> None:
        """Show the sentences, with whether further turns (or named phases) fit."""
        self._sentences.report, self._sentences.error = message.report, message.error
        self._add_phases()

    def _add_phases(self) -> None:
        report = self._sentences.report
        if report is not None and report.ahead is not None and self._figures is not None:
            window, rows = report.ahead.window, [row.phase for row in self._figures.phases]
            fits = check_feasibility(report.ahead.outlook, rows, window.usable, window.window or window.limit)
            self._sentences.report = replace(report, feasible=fits)
        self._sentences.redraw()
        if self._sentences_only:
            self._arrange()

    def load(self) -> Sequence[GrownPhase]:
        """Return the phases by the configured rule, and keep the chart."""
        self._figures = self._make()
        return self._figures.phases

    def show(self, rows: Sequence[GrownPhase]) -> None:
        super().show(rows)
        if self._figures is not None:
            self._chart.chart = self._figures.chart
            self._chart.redraw()
            self.pane.fail(self._figures.error)
        self._add_phases()

    def is_final(self, rows: Sequence[GrownPhase]) -> bool:
        return all(row.phase.priced for row in rows)

    def first_cursor(self, rows: Sequence[GrownPhase]) -> int:
        return next((i for i, row in enumerate(rows) if row.phase.last >= self._number), 0)

    def table(self, rows: Sequence[GrownPhase]) -> Table[GrownPhase]:
        return phases.grown_table(rows, self._number)

    def rule_notes(self, rows: Sequence[GrownPhase]) -> Spans:
        return phases.summary([row.phase for row in rows])

    def sums_of_rule(self) -> Mapping[str, str]:
        return {ROW: phases.explain_summary([row.phase for row in self.rows])}

    def sums_beside(self, spot: Spot) -> Mapping[str, str]:
        if spot.pane == self._chart.id:
            chart = self._figures.chart if self._figures is not None else None
            return {ROW: stacked_chart.explain_scale(chart)} if chart is not None else {}
        report = self._sentences.report
        return {ROW: views.explain_growth(report.growth)} if report is not None else {}

    def choose(self, row: GrownPhase) -> int:
        return row.phase.first
