"""The lab over the Inspector: variants of the session as rows, their contexts as curves. Enter opens a variant."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import ClassVar, Final, NamedTuple

from textual.message import Message
from textual.widget import Widget
from textual.worker import get_current_worker

from ctxtui.analysis.lab.placed_markers import LIVES, find_strategy
from ctxtui.analysis.lab.report import LabRow, SessionLab
from ctxtui.analysis.lab.variant import RECORDED
from ctxtui.core.errors import CtxtuiError
from ctxtui.services.child_process import ChildGone
from ctxtui.services.editing.variant_files import VariantFile
from ctxtui.services.worker import Worker
from ctxtui.services.workers.lab_worker import LabProgress, OpenLab
from ctxtui.tui.commands import Act, Command
from ctxtui.tui.lists.list_screen import ListScreen
from ctxtui.tui.widgets.board import Board
from ctxtui.tui.widgets.pane import Pane
from ctxtui.tui.widgets.prompt_line import Question
from ctxtui.views.lists import lab as views
from ctxtui.views.lists.lab import LabLine
from ctxtui.views.text import cells, safe_text
from ctxtui.views.text.span import Span, Spans, plain
from ctxtui.views.text.table import Table

STAGE: Final = "stage"
OPEN: Final = "open"
PLACE: Final = "place"


class LabWish(NamedTuple):
    """What the lab closes with: stage the edits of a variant (`row`), open the session at `path`, of which `note` is to
    be said, or stage the breakpoints of the strategy `cache`."""

    kind: str
    row: LabRow | None = None
    path: str = ""
    cache: str = ""
    note: str = ""


class OpenVariant(Command):
    """Open this variant as a session of its own: what every call would have sent, block by block, with the usage that
    was simulated."""

    name, keys, label, short, group = "open variant", ("enter",), "open variant", "open", "the lab"
    run = Act(lambda: LabScreen, lambda screen: screen.open_variant())


class StageVariant(Command):
    """Stage the edits that this variant's policy had made by the end of the recording. Nothing leaves before you apply
    them."""

    name, keys, label, short, group = "stage its edits", ("A",), "stage its edits", "stage", "the lab"
    run = Act(lambda: LabScreen, lambda screen: screen.stage())


class AddPolicy(Command):
    """Try another policy: its name, with settings behind it (`budget target=80000`), or a profile's file."""

    name, keys, shown, label, short, group = "add policy", ("plus",), "+", "add policy", "policy", "the lab"
    run = Act(lambda: LabScreen, lambda screen: screen.ask("policy"))


class AddCache(Command):
    """Try another cache strategy on what was recorded: 5m, 1h, anchored, static+tail ..."""

    name, keys, label, short, group = "cache strategy", ("C",), "cache strategy", "cache", "the lab"
    run = Act(lambda: LabScreen, lambda screen: screen.ask("cache"))


class AddModel(Command):
    """Try another model on what was recorded: its tokens, its window, its prices."""

    name, keys, label, short, group = "another model", ("M",), "model", "model", "the lab"
    run = Act(lambda: LabScreen, lambda screen: screen.ask("model"))


class SeekBest(Command):
    """Seek the best policy with its settings, and the best cache strategy, for this session; `ctxtui lab --solve` holds
    each of several sessions out once."""

    name, keys, label, short, group = "seek the best", ("exclamation_mark",), "seek the best", "best", "the lab"
    run = Act(lambda: LabScreen, lambda screen: screen.seek())


class PlaceMarkers(Command):
    """Stage the cache breakpoints of this row's strategy, or of the cheapest that was tried, in the next request."""

    name, keys, label, short, group = "place its breakpoints", ("b",), "breakpoints", "marks", "the lab"
    run = Act(lambda: LabScreen, lambda screen: screen.place())


class ShowCurve(Command):
    """Show or hide the curve of this variant; at most six are drawn."""

    name, keys, label, short, group = "show or hide curve", ("space",), "curve", "curve", "the lab"
    run = Act(lambda: LabScreen, lambda screen: screen.toggle_curve())


class LabTold(Message):
    """The lab has gone further, or why it cannot."""

    def __init__(self, step: LabProgress | None, trouble: str = "") -> None:
        super().__init__()
        self.step = step
        self.trouble = trouble


class LabWritten(Message):
    """A variant is written as a session, or why not."""

    def __init__(self, made: VariantFile | None, trouble: str = "") -> None:
        super().__init__()
        self.made = made
        self.trouble = trouble


class CurvesBoard(Board):
    """The context of each call under every variant, and what is to be said of the figures."""

    def __init__(self) -> None:
        super().__init__(title="context per call", id="curves")
        self.what: SessionLab | None = None
        self.lines: Sequence[LabLine] = ()
        self.here = 0
        self.far: Spans = ()

    def draw(self, width: int, height: int) -> Sequence[Spans]:
        """The curves, and below them the notes there is room for."""
        if self.what is None:
            return [self.far] if self.far else ()
        told = [line for note in views.notes(self.what) for line in _wrapped(note, width - 2)]
        kept = told[: max(1, min(len(told), height // 4))] if height >= 8 else []
        if kept and len(kept) < len(told):
            words = safe_text.one_line(plain(kept[-1])).strip()
            kept[-1] = [Span(f"  {cells.fit(f'{words} …', width - 4)}", "dim")]
        chart = views.chart_lines(self.what, self.lines, width, height - len(kept), self.here)
        return [*chart, *([Span(" "), *line] for line in kept)][:height]

    def notes(self) -> Spans:
        """What the chart is."""
        return [Span("all variants laid over each other", "dim")] if self.what is not None else ()


def _can_be_placed(cache: str) -> bool:
    """Whether the markers of a strategy, or of a lifetime, can be set in the next request."""
    return cache in LIVES or find_strategy(cache) is not None


def _wrapped(note: Spans, room: int) -> list[Spans]:
    first, *more = safe_text.wrap(plain(note), max(20, room - 2)) or [""]
    return [[Span(first, note[0].style)], *([Span(f"  {line.lstrip()}", note[0].style)] for line in more)]


class LabScreen(ListScreen[LabLine, LabWish]):
    """The variants that `worker` tries, in a process of its own; it ends with the screen."""

    commands: ClassVar[tuple[type[Command], ...]] = (
        OpenVariant,
        StageVariant,
        SeekBest,
        PlaceMarkers,
        AddPolicy,
        AddCache,
        AddModel,
        ShowCurve,
    )
    heading, none = "variants", "No call of this session can be simulated."
    DEFAULT_CSS = """
    LabScreen #variants { height: 13; }
    LabScreen #curves { height: 1fr; }
    """

    def __init__(self, worker: Worker[OpenLab]) -> None:
        self._worker = worker
        self.what: SessionLab | None = None
        self._hidden: set[int] = set()
        self.curves = CurvesBoard()
        super().__init__()

    def below(self) -> Iterable[Widget]:
        """The curves."""
        yield self.curves

    def begin(self) -> None:
        """The usual policies first."""
        self._try((), (), ())

    def load(self) -> Sequence[LabLine]:
        """The rows that are known."""
        return views.lab_lines(self.what, tuple(self._hidden)) if self.what is not None else ()

    def on_unmount(self) -> None:
        """What is still tried is not wanted any more."""
        self._worker.close()

    def on_resize(self) -> None:
        """The table takes what it needs, at most half of the screen."""
        rows = len(self.rows) or 10
        self.pane.styles.height = min(rows + 2, max(5, self.size.height // 2))

    def _try(self, policies: Sequence[str], caches: Sequence[str], models: Sequence[str]) -> None:
        self._go(lambda: self._worker.steps(OpenLab.try_variants, policies, caches, models))

    def seek(self) -> None:
        """Try everything among which the best is sought."""
        self._go(lambda: self._worker.steps(OpenLab.try_sought))

    def _go(self, steps: Callable[[], Iterable[LabProgress]]) -> None:
        self.run_worker(self._steps(steps), thread=True, exclusive=True, group="lab")

    def _steps(self, steps: Callable[[], Iterable[LabProgress]]) -> Callable[[], None]:
        def work() -> None:
            worker = get_current_worker()
            try:
                for step in steps():
                    if worker.is_cancelled:
                        return
                    self.post_message(LabTold(step))
            except (CtxtuiError, ChildGone) as error:
                if not worker.is_cancelled:
                    self.post_message(LabTold(None, _why(error)))

        return work

    def on_lab_told(self, message: LabTold) -> None:
        """How far it is; at the end the rows."""
        step = message.step
        if step is None:
            if self.what is None:
                self.fail(message.trouble)
            else:
                self.said.say([Span("▲ ", "warn"), Span(safe_text.one_line(message.trouble))])
            return
        if step.result is None:
            self._tell_far(step)
            return
        self.what = step.result
        self.curves.far = ()
        self.show(self.load())
        self.on_resize()

    def _tell_far(self, step: LabProgress) -> None:
        share = step.done / step.total if step.total else 0.0
        words = (
            f" call {step.done:,} of {step.total:,} under {step.variants} variant{'s' if step.variants != 1 else ''} "
        )
        bar = "━" * round(20 * share)
        self.pane.told = [Span(words, "dim"), Span(bar, "accent"), Span("─" * (20 - len(bar)), "hair")]
        self.pane.refresh_rule()

    def table(self, rows: Sequence[LabLine]) -> Table[LabLine]:
        """What each variant comes to."""
        assert self.what is not None
        return views.lab_table(self.what)

    def told(self, rows: Sequence[LabLine]) -> Spans:
        """How the rows stand."""
        return [Span(" cheapest first", "dim")] if rows else [Span(" · reading the session", "dim")]

    def noted(self, rows: Sequence[LabLine]) -> Spans:
        """How true it is."""
        if self.what is None:
            return ()
        return [
            Span(views.STAR, "warn"),
            Span(" on the front of cost and risk · ", "dim"),
            *views.describe_deviation(self.what),
        ]

    def show(self, what: Sequence[LabLine]) -> None:
        """The rows, and their curves."""
        super().show(what)
        self.curves.what, self.curves.lines = self.what, self.rows
        self._point()

    def on_pane_moved(self, message: Pane.Moved) -> None:
        """Another one is under the cursor: nothing is drawn over it."""
        self._point()

    def _point(self) -> None:
        row = self.pane.row
        self.curves.here = next((n for n, line in enumerate(self.rows) if line is row), -1)
        self.curves.redraw()

    def choose(self, row: LabLine) -> LabWish | None:
        """Opening takes its time."""
        self.open_variant()
        return None

    def open_variant(self) -> None:
        """Write the variant, then open it."""
        row = self.pane.row
        if row is None or self.what is None:
            return
        index = self.what.rows.index(row.row)
        self.said.say([Span("writing the variant as a session", "dim")])

        def work() -> None:
            try:
                told = LabWritten(self._worker.call(OpenLab.write, index))
            except (CtxtuiError, ChildGone) as error:
                told = LabWritten(None, _why(error))
            self.post_message(told)

        self.run_worker(work, thread=True, group="write")

    def on_lab_written(self, message: LabWritten) -> None:
        """It is there."""
        if message.made is not None and not self.is_current:
            self.said.say([Span(f"written: {safe_text.one_line(str(message.made.path))}")])
        elif message.made is not None:
            self.dismiss(LabWish(OPEN, path=str(message.made.path), note=message.made.elsewhere))
        else:
            self.said.say([Span("▲ ", "warn"), Span(safe_text.one_line(message.trouble))])

    def stage(self) -> None:
        """Close with the row whose edits are to be staged."""
        row = self.pane.row
        if row is None:
            return
        if any(row.row.edits.values()):
            self.dismiss(LabWish(STAGE, row.row))
        else:
            self.said.say([Span("this variant makes no edits: there is nothing to stage", "dim")])

    def place(self) -> None:
        """Close with the strategy whose breakpoints are to be staged."""
        row = self.pane.row
        here = row.row.cache if row is not None else RECORDED
        tried = [line.row.cache for line in self.rows if _can_be_placed(line.row.cache)]
        cache = here if _can_be_placed(here) else tried[0] if tried else ""
        if cache:
            self.dismiss(LabWish(PLACE, cache=cache))
        else:
            self.said.say([Span("no strategy was tried: C tries one, b all of them", "dim")])

    def toggle_curve(self) -> None:
        """Show or hide the curve of the row under the cursor."""
        row = self.pane.row
        if row is None or self.what is None:
            return
        self._hidden ^= {self.what.rows.index(row.row)}
        self.show(self.load())

    def ask(self, what: str) -> None:
        """Type the name of a policy, a cache strategy or a model."""
        self.prompt.ask(Question([Span(f" {what} › ", "accent bold")], partial(self._try_named, what)))

    def _try_named(self, what: str, text: str) -> None:
        """Try what was typed, besides what is there."""
        if words := text.strip():
            by = {"policy": ((words,), (), ()), "cache": ((), (words,), ()), "model": ((), (), (words,))}
            self._try(*by[what])


def _why(error: CtxtuiError | ChildGone) -> str:
    if isinstance(error, ChildGone):
        return str(CtxtuiError("the process of the lab ended", way_out="ctxtui lab works without one"))
    return str(error)
