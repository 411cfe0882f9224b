"""The lab: variants of the session as rows, their contexts as curves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import ClassVar, Final, NamedTuple

from textual.message import Message
from textual.widget import Widget
from textual.worker import get_current_worker

from ctxtui.analysis.lab.placed_markers import LIFETIMES, find_strategy
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
from ctxtui.views.text import cells, numbers, safe_text
from ctxtui.views.text.span import Span, Spans, plain
from ctxtui.views.text.table import Table

STAGE: Final = "stage"
OPEN: Final = "open"
PLACE: Final = "place"
"""Kinds of `LabAction`."""


class LabAction(NamedTuple):
    """Result of the lab.

    Stage the edits of `row`, open `path`, or stage the breakpoints of the strategy `cache`. `note` is a message about
    the opened session.
    """

    kind: str
    row: LabRow | None = None
    path: str = ""
    cache: str = ""
    note: str = ""


class OpenVariant(Command):
    """Open this variant as a session: what every call would have sent, with simulated usage."""

    name, keys, label, short_label, group = "open variant", ("enter",), "open variant", "open", "the lab"
    run = Act(lambda: LabScreen, lambda screen: screen.open_variant())


class StageVariant(Command):
    """Stage the edits that this variant's policy had made in the thread shown by the end."""

    name, keys, label, short_label, group = "stage its edits", ("A",), "stage its edits", "stage", "the lab"
    run = Act(lambda: LabScreen, lambda screen: screen.stage())


class AddPolicy(Command):
    """Try another policy: its name, with settings after it, or a profile file.

    `budget target=80000` is one with a setting.
    """

    name, keys, shown, label, short_label, group = "add policy", ("plus",), "+", "add policy", "policy", "the lab"
    run = Act(lambda: LabScreen, lambda screen: screen.ask("policy"))


class AddCache(Command):
    """Try another cache strategy on the recording: 5m, 1h, anchored, static+tail ..."""

    name, keys, label, short_label, group = "cache strategy", ("C",), "cache strategy", "cache", "the lab"
    run = Act(lambda: LabScreen, lambda screen: screen.ask("cache"))


class AddModel(Command):
    """Try another model on the recording: its tokens, its window, its prices."""

    name, keys, label, group = "another model", ("M",), "model", "the lab"
    run = Act(lambda: LabScreen, lambda screen: screen.ask("model"))


class SeekBest(Command):
    """Find the best policy with settings, and the best cache strategy, for this session.

    `ctxtui lab --solve` cross-validates over several sessions.
    """

    name, keys, label, short_label, group = "find the best", ("exclamation_mark",), "find the best", "best", "the lab"
    run = Act(lambda: LabScreen, lambda screen: screen.seek())


class PlaceMarkers(Command):
    """Stage the cache breakpoints of this row's strategy, or of the cheapest one tried."""

    name, keys, label, short_label, group = "place its breakpoints", ("b",), "breakpoints", "marks", "the lab"
    run = Act(lambda: LabScreen, lambda screen: screen.place())


class ShowCurve(Command):
    """Show or hide the curve of this variant; at most six are drawn."""

    name, keys, label, group = "show or hide curve", ("space",), "curve", "the lab"
    run = Act(lambda: LabScreen, lambda screen: screen.toggle_curve())


class LabStepped(Message):
    """The lab made progress, or failed with `error` (then `step` is None)."""

    def __init__(self, step: LabProgress | None, error: str = "") -> None:
        super().__init__()
        self.step = step
        self.error = error


class LabWritten(Message):
    """A variant was written as a session, or that failed with `error`."""

    def __init__(self, variant: VariantFile | None, error: str = "") -> None:
        super().__init__()
        self.variant = variant
        self.error = error


class CurvesBoard(Board):
    """The context of each call under the variants with a curve, with notes on the figures."""

    def __init__(self) -> None:
        super().__init__(title="context per call", id="curves")
        self.lab: SessionLab | None = None
        self.lines: Sequence[LabLine] = ()
        self.current = 0
        self.progress: Spans = ()

    def draw(self, width: int, height: int) -> Sequence[Spans]:
        if self.lab is None:
            return [self.progress] if self.progress else ()
        lines = [line for note in views.notes(self.lab) for line in _wrapped(note, width - 2)]
        visible = lines[: max(1, min(len(lines), height // 4))] if height >= 8 else []
        if visible and len(visible) < len(lines):
            words = safe_text.one_line(plain(visible[-1])).strip()
            visible[-1] = [Span(f"  {cells.fit(f'{words} …', width - 4)}", "dim")]
        chart = views.chart_lines(self.lab, self.lines, width, height - len(visible), self.current)
        return [*chart, *([Span(" "), *line] for line in visible)][:height]

    def notes(self) -> Spans:
        return [Span("variants overlaid", "dim")] if self.lab is not None else ()


def _is_placeable(cache: str) -> bool:
    return cache in LIFETIMES or find_strategy(cache) is not None


def _wrapped(note: Spans, room: int) -> list[Spans]:
    first, *more = safe_text.wrap(plain(note), max(20, room - 2)) or [""]
    return [[Span(first, note[0].style)], *([Span(f"  {line.lstrip()}", note[0].style)] for line in more)]


class LabScreen(ListScreen[LabLine, LabAction]):
    """The variants that `worker` tries; its process ends with the screen."""

    commands: ClassVar[tuple[type[Command], ...]] = (
        OpenVariant, StageVariant, SeekBest, PlaceMarkers, AddPolicy, AddCache, AddModel, ShowCurve,
    )  # fmt: skip
    heading, empty_text = "variants", "No call of this session can be simulated."
    DEFAULT_CSS = """
    LabScreen #variants { height: 13; }
    LabScreen #curves { height: 1fr; }
    """

    def __init__(self, worker: Worker[OpenLab]) -> None:
        self._worker = worker
        self.lab: SessionLab | None = None
        self._hidden: set[int] = set()
        self.curves = CurvesBoard()
        super().__init__()

    def below(self) -> Iterable[Widget]:
        yield self.curves

    def begin(self) -> None:
        self._try((), (), ())

    def load(self) -> Sequence[LabLine]:
        return views.lab_lines(self.lab, tuple(self._hidden)) if self.lab is not None else ()

    def on_unmount(self) -> None:
        self._worker.close()

    def on_resize(self) -> None:
        rows = len(self.rows) or 10
        self.pane.styles.height = min(rows + 2, max(5, self.size.height // 2))

    def _try(self, policies: Sequence[str], caches: Sequence[str], models: Sequence[str]) -> None:
        self._run_steps(lambda: self._worker.steps(OpenLab.try_variants, policies, caches, models))

    def seek(self) -> None:
        self._run_steps(lambda: self._worker.steps(OpenLab.try_candidates))

    def _run_steps(self, steps: Callable[[], Iterable[LabProgress]]) -> None:

        def work() -> None:
            worker = get_current_worker()
            try:
                for step in steps():
                    if worker.is_cancelled:
                        return
                    self.post_message(LabStepped(step))
            except (CtxtuiError, ChildGone) as error:
                if not worker.is_cancelled:
                    self.post_message(LabStepped(None, _error_text(error)))

        self.run_worker(work, thread=True, exclusive=True, group="lab")

    def on_lab_stepped(self, message: LabStepped) -> None:
        step = message.step
        if step is None:
            if self.lab is None:
                self.fail(message.error)
            else:
                self.show_message([Span("▲ ", "warn"), Span(safe_text.one_line(message.error))])
            return
        if step.result is None:
            self._show_progress(step)
            return
        self.lab = step.result
        self.curves.progress = ()
        self.show(self.load())
        self.on_resize()

    def _show_progress(self, step: LabProgress) -> None:
        share = step.done / step.total if step.total else 0.0
        words = f" call {step.done:,} of {step.total:,} under {numbers.many(step.variants, 'variant')} "
        bar = "━" * round(20 * share)
        self.pane.title_spans = [Span(words, "dim"), Span(bar, "accent"), Span("─" * (20 - len(bar)), "hair")]
        self.pane.refresh_rule()

    def table(self, rows: Sequence[LabLine]) -> Table[LabLine]:
        assert self.lab is not None
        return views.lab_table(self.lab)

    def title_suffix(self, rows: Sequence[LabLine]) -> Spans:
        return [Span(" cheapest first", "dim")] if rows else [Span(" · reading the session", "dim")]

    def rule_notes(self, rows: Sequence[LabLine]) -> Spans:
        if self.lab is None:
            return ()
        return [
            Span(views.STAR, "warn"),
            Span(" best trade-off of cost and risk · ", "dim"),
            *views.describe_deviation(self.lab),
        ]

    def show(self, rows: Sequence[LabLine]) -> None:
        super().show(rows)
        self.curves.lab, self.curves.lines = self.lab, self.rows
        self._highlight_curve()

    def on_pane_moved(self, message: Pane.Moved) -> None:
        self._highlight_curve()

    def _highlight_curve(self) -> None:
        row = self.pane.row
        self.curves.current = next((n for n, line in enumerate(self.rows) if line is row), -1)
        self.curves.redraw()

    def choose(self, row: LabLine) -> LabAction | None:
        self.open_variant()
        return None

    def open_variant(self) -> None:
        row = self.pane.row
        if row is None or self.lab is None:
            return
        index = self.lab.rows.index(row.row)
        self.show_message([Span("writing the variant as a session", "dim")])

        def work() -> None:
            try:
                message = LabWritten(self._worker.call(OpenLab.write, index))
            except (CtxtuiError, ChildGone) as error:
                message = LabWritten(None, _error_text(error))
            self.post_message(message)

        self.run_worker(work, thread=True, group="write")

    def on_lab_written(self, message: LabWritten) -> None:
        if message.variant is not None and not self.is_current:
            self.show_message([Span(f"written: {safe_text.one_line(str(message.variant.path))}")])
        elif message.variant is not None:
            self.dismiss(LabAction(OPEN, path=str(message.variant.path), note=message.variant.elsewhere))
        else:
            self.show_message([Span("▲ ", "warn"), Span(safe_text.one_line(message.error))])

    def stage(self) -> None:
        row = self.pane.row
        if row is None:
            return
        if any(row.row.edits.values()):
            self.dismiss(LabAction(STAGE, row.row))
        else:
            self.show_message([Span("This variant makes no edits, so there is nothing to stage.", "dim")])

    def place(self) -> None:
        row = self.pane.row
        current = row.row.cache if row is not None else RECORDED
        tried = [line.row.cache for line in self.rows if _is_placeable(line.row.cache)]
        cache = current if _is_placeable(current) else tried[0] if tried else ""
        if cache:
            self.dismiss(LabAction(PLACE, cache=cache))
        else:
            self.show_message([Span("No strategy was tried: C tries one, ! all of them.", "dim")])

    def toggle_curve(self) -> None:
        row = self.pane.row
        if row is None or self.lab is None:
            return
        self._hidden ^= {self.lab.rows.index(row.row)}
        self.show(self.load())

    def ask(self, kind: str) -> None:
        self.prompt.ask(Question([Span(f" {kind} › ", "accent bold")], partial(self._try_named, kind)))

    def _try_named(self, kind: str, text: str) -> None:
        if words := text.strip():
            arguments = {"policy": ((words,), (), ()), "cache": ((), (words,), ()), "model": ((), (), (words,))}
            self._try(*arguments[kind])


def _error_text(error: CtxtuiError | ChildGone) -> str:
    if isinstance(error, ChildGone):
        return str(CtxtuiError("the process of the lab ended", way_out="ctxtui lab works without it"))
    return str(error)
