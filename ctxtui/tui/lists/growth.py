"""The growth of the thread: a chart of its calls by category, what that means in sentences, and its phases. Enter goes
to a phase's first call.
"""

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
from ctxtui.views.text.signs import failed
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.text.sums import ROW
from ctxtui.views.text.table import Table

NAME: Final = 0
"""What the screen closes with when the call shown is to begin a phase with a name of its own."""
WIDE: Final = 160
"""Cells from which the sentences stand beside the chart."""
_LIST: Final = 5
"""Lines that the list keeps below the sentences: its rule, its head, two rows, the keys."""


class GrowthFigures(Struct, frozen=True):
    """What is known at once: the chart of the calls, and the phases with what grew in each."""

    chart: StackedChart
    phases: Sequence[GrownPhase]


class NamePhaseHere(Command):
    """Give a name to the phase that begins with the call shown: it is kept as a note on that call, ``phase: name``."""

    name, keys, label, short, group = "name a phase here", ("number_sign",), "name a phase here", "name", "phases"
    run = Act(lambda: GrowthScreen, lambda screen: screen.dismiss(NAME))


class EverySentence(Command):
    """Show all sentences about the growth, also in a small terminal: they stand where the chart was, until the key is
    pressed again."""

    name, keys, label, short, group = "all sentences, or the chart", ("tab",), "all sentences", "words", "phases"
    run = Act(lambda: GrowthScreen, lambda screen: screen.turn_words())


class ChartBoard(Board):
    """Each call by category."""

    def __init__(self) -> None:
        super().__init__(title="growth", id="chart")
        self.chart: StackedChart | None = None

    def draw(self, width: int, height: int) -> Sequence[Spans]:
        """The columns, and the marks below them."""
        if self.chart is None:
            return [[Span(" ·", "dim")]]
        return stacked_chart.lines(self.chart, width, height, colour=look_of(self.app).coloured)

    def notes(self) -> Spans:
        """What the colours mean."""
        return stacked_chart.legend(self.chart, self.body_width - 14) if self.chart is not None else ()


class WordsBoard(Board):
    """The shape of the growth, what was carried, and where it leads."""

    def __init__(self) -> None:
        super().__init__(title="what that means", id="means")
        self.report: GrowthReport | None = None
        self.trouble = ""

    def draw(self, width: int, height: int) -> Sequence[Spans]:
        """The sentences, the most telling first where there is room for few."""
        if self.trouble:
            return [[Span(f" ▲ {safe_text.one_line(self.trouble, 400)}", "warn")]]
        if self.report is None:
            return [[Span(" · reading every call, and what lies ahead", "dim")]]
        return views.wrap(self.report, width, height)

    def notes(self) -> Spans:
        """How many sentences have no room."""
        if self.report is None or self.trouble:
            return ()
        more = views.count_left_out(self.report, self.body_width, self.body_height)
        return [Span(f"{more:,} more: w", "dim")] if more else ()

    def wanted(self, width: int) -> int:
        """Lines that all sentences need, with the rule above them."""
        return 1 + len(views.wrap(self.report, width)) if self.report is not None else 0


class GrowthTold(Message):
    """The sentences are worked out, or why not."""

    def __init__(self, report: GrowthReport | None, trouble: str = "") -> None:
        super().__init__()
        self.report = report
        self.trouble = trouble


class GrowthScreen(ListScreen[GrownPhase, int]):
    """The phases as `make` works them out, until all are priced, below the chart of the calls; `report` gives what that
    means, and takes its time. `number` is the call shown. Closes with the number of a call, or `NAME`."""

    commands: ClassVar[tuple[type[Command], ...]] = (NamePhaseHere, EverySentence)
    heading, none = "phases", "No call is recorded."
    DEFAULT_CSS = """
    GrowthScreen #above { height: 16; }
    GrowthScreen #above.high { layout: vertical; }
    GrowthScreen #phases { height: 1fr; }
    """

    def __init__(self, make: Callable[[], GrowthFigures], report: Callable[[], GrowthReport], number: int) -> None:
        self._make, self._report, self._number = make, report, number
        self._chart, self._words = ChartBoard(), WordsBoard()
        self._above = Horizontal(self._chart, self._words, id="above")
        self._figures: GrowthFigures | None = None
        self._words_alone = False
        super().__init__()

    def compose(self) -> ComposeResult:
        """The chart and the sentences above the list."""
        yield self._above
        yield from super().compose()

    def on_mount(self) -> None:
        """Ask for the sentences, too."""
        super().on_mount()
        self.run_worker(self._tell_growth, thread=True, group="growth")

    def on_resize(self) -> None:
        """Fit it to the terminal."""
        self._arrange()

    def turn_words(self) -> None:
        """Show all sentences in the place of the chart, or both again."""
        self._words_alone = not self._words_alone
        self._arrange()

    def _arrange(self) -> None:
        """Side by side where there is room; the chart takes what the screen's height allows."""
        wide, height = self.size.width >= WIDE, self.size.height
        self._above.set_class(not wide, "high")
        self._chart.display = not self._words_alone
        room = max(10, height * 6 // 10)
        if self._words_alone:
            # All of them, and the list keeps its rule, its head and two rows.
            room = min(max(room, self._words.wanted(self.size.width)), height - _LIST)
        self._above.styles.height = max(8, height * 45 // 100) if wide and not self._words_alone else room
        self._chart.styles.height = "1fr" if wide else max(5, room * 45 // 100)
        self._chart.styles.width = "3fr" if wide else "1fr"
        self._words.styles.width = "2fr" if wide else "1fr"
        self._words.join = "┬" if wide else ""
        self._words.redraw()

    def _tell_growth(self) -> None:
        try:
            told = GrowthTold(self._report())
        except CtxtuiError as error:
            told = GrowthTold(None, str(error))
        self.post_message(told)

    def on_growth_told(self, message: GrowthTold) -> None:
        """Show the sentences; phases that the user named are what lies ahead is counted in."""
        self._words.report, self._words.trouble = message.report, message.trouble
        self._with_phases()

    def _with_phases(self) -> None:
        found = self._words.report
        if found is not None and found.ahead is not None and self._figures is not None:
            window, rows = found.ahead.window, [row.phase for row in self._figures.phases]
            fits = check_feasibility(found.ahead.outlook, rows, window.usable, window.window or window.limit)
            self._words.report = replace(found, feasible=fits)
        self._words.redraw()
        if self._words_alone:
            self._arrange()

    def load(self) -> Sequence[GrownPhase]:
        """By the rule that is set. Raises `BadPattern`."""
        self._figures = self._make()
        return self._figures.phases

    def show(self, what: Sequence[GrownPhase]) -> None:
        """The chart, and the list."""
        if self._figures is not None:
            self._chart.chart = self._figures.chart
            self._chart.redraw()
        super().show(what)
        self._with_phases()

    def settled(self, rows: Sequence[GrownPhase]) -> bool:
        """Costs come as they are worked out."""
        return all(row.phase.priced for row in rows)

    def begins_at(self, rows: Sequence[GrownPhase]) -> int:
        """On the phase of the call shown."""
        return next((i for i, row in enumerate(rows) if row.phase.last >= self._number), 0)

    def table(self, rows: Sequence[GrownPhase]) -> Table[GrownPhase]:
        """Growth, tokens and cost of each."""
        return phases.grown_table(rows, self._number)

    def noted(self, rows: Sequence[GrownPhase]) -> Spans:
        """What a phase adds."""
        return phases.summary([row.phase for row in rows])

    def sums_of_rule(self) -> Mapping[str, str]:
        """What a phase typically adds, and what all sent."""
        return {ROW: phases.explain_summary([row.phase for row in self.rows])}

    def sums_beside(self, spot: Spot) -> Mapping[str, str]:
        """What a line of the chart's scale stands for, and where the sentences have their figures from."""
        if spot.pane == self._chart.id:
            chart = self._figures.chart if self._figures is not None else None
            return {ROW: stacked_chart.explain_scale(chart)} if chart is not None else {}
        report = self._words.report
        return {ROW: views.explain_growth(report.growth)} if report is not None else {}

    def fail(self, trouble: str) -> None:
        """The rule is no expression."""
        self.pane.told = failed(f"setting phases: {trouble}")
        self.pane.show((), self.table(()), cursor=0)

    def choose(self, row: GrownPhase) -> int:
        """Its first call."""
        return row.phase.first
