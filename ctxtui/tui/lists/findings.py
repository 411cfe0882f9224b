"""Findings of the thread up to the call shown: what risks least first; Enter stages what cures one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import ClassVar

from textual.widget import Widget

from ctxtui.analysis.findings.priced import PricedFinding
from ctxtui.services.library.findings import Findings
from ctxtui.tui.commands import Act, Command
from ctxtui.tui.lists.list_screen import ListScreen
from ctxtui.tui.widgets.board import Board
from ctxtui.tui.widgets.pane import Pane
from ctxtui.views.glossary.spots import Spot
from ctxtui.views.lists import findings as views
from ctxtui.views.text import safe_text
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.text.sums import ROW
from ctxtui.views.text.table import Table


class StageFinding(Command):
    """Stage the edits that cure this finding, or its breakpoints in the next request, as one action. Nothing leaves
    before you apply them; where nothing can be staged, why is said."""

    name, keys, label, group = "stage the cure", ("enter",), "stage", "findings"
    run = Act(lambda: FindingsScreen, lambda screen: screen.take())


class StageEveryFinding(Command):
    """Stage the edits of all findings, as one action."""

    name, keys, label, short, group = "stage all cures", ("A",), "stage all", "all", "findings"
    run = Act(lambda: FindingsScreen, lambda screen: screen.take_all())


class CopyFinding(Command):
    """Copy the command line that makes the same edits."""

    name, keys, label, short, group = "copy command line", ("y",), "copy the command", "copy", "findings"
    run = Act(lambda: FindingsScreen, lambda screen: screen.copy_command())


class FindingBoard(Board):
    """The finding under the cursor, in whole."""

    def __init__(self) -> None:
        super().__init__(title="finding", id="finding")
        self.row: PricedFinding | None = None
        self.what: Findings | None = None
        self.session = ""

    def draw(self, width: int, height: int) -> Sequence[Spans]:
        """In words."""
        if self.what is None:
            return ()
        told = views.detail(self.row, self.what, self.session, width) if self.row is not None else []
        return [*told, *views.not_told(self.what, width)][:height]


class FindingsScreen(ListScreen[PricedFinding, Sequence[PricedFinding]]):
    """Lists what `find` gives, worked out in a process of its own; the session is called `name`. Closes with what is to
    be staged."""

    commands: ClassVar[tuple[type[Command], ...]] = (StageFinding, StageEveryFinding, CopyFinding)
    heading, none, least_below = "findings", "Nothing found that would save anything.", 10
    working = (Span(" · reading every call, trying every cure", "dim"),)
    DEFAULT_CSS = """
    FindingsScreen #findings { height: 1fr; }
    FindingsScreen #finding { height: 1fr; min-height: 10; }
    """

    def __init__(self, find: Callable[[], Findings], name: str) -> None:
        self._find = find
        self.what: Findings | None = None
        self.board = FindingBoard()
        self.board.session = name
        super().__init__()

    def below(self) -> Iterable[Widget]:
        """What one says."""
        yield self.board

    def load(self) -> Sequence[PricedFinding]:
        """All that is found."""
        self.what = self._find()
        return self.what.found

    def table(self, rows: Sequence[PricedFinding]) -> Table[PricedFinding]:
        """What each saves, and says."""
        return views.TABLE

    def noted(self, rows: Sequence[PricedFinding]) -> Spans:
        """Over how many calls, and what all save together."""
        return [Span(views.note(self.what), "dim")]

    def sums_of_rule(self) -> Mapping[str, str]:
        """What all edits together come to."""
        tag = self.what.together if self.what is not None else None
        return {ROW: views.sum_of_all(tag)} if tag is not None else {}

    def sums_beside(self, spot: Spot) -> Mapping[str, str]:
        """Of the finding under the cursor."""
        return {ROW: views.sum_of(self.pane.row)} if self.pane.row is not None else {}

    def show(self, what: Sequence[PricedFinding]) -> None:
        """The rows, and the one under the cursor."""
        self.board.what = self.what
        if self.what is not None:
            self.pane.none = f" {views.none(self.what)}"
        super().show(what)
        self._tell()

    def on_pane_moved(self, message: Pane.Moved) -> None:
        """Another one is under the cursor."""
        self._tell()

    def _tell(self) -> None:
        self.board.row = self.pane.row
        self.board.redraw()

    def copy_command(self) -> None:
        """Put the command line into the clipboard, through the terminal."""
        row, what = self.pane.row, self.what
        if row is None or what is None:
            return
        told = views.command(row, self.board.session, what)
        if told:
            self.app.copy_to_clipboard(told)
            self.said.say([Span("✓ ", "ok"), Span("the command line is copied", "dim")])
        else:
            self.said.say([Span("no command makes these edits; ⏎ stages them", "dim")])

    def choose(self, row: PricedFinding) -> Sequence[PricedFinding] | None:
        """What cures it; where nothing can be staged, why is said."""
        if row.stages:
            return (row,)
        self.said.say([Span("nothing to stage: ", "warn"), Span(safe_text.one_line(row.why_not), "ink")])
        return None

    def take_all(self) -> None:
        """Everything that can be staged."""
        every = [one for one in self.rows if one.finding.edits]
        if every:
            self.dismiss(every)
