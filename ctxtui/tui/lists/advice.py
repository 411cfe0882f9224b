"""What would help from here on, what risks least first; Enter stages a piece of advice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import ClassVar

from textual.widget import Widget
from textual.worker import get_current_worker

from ctxtui.curation.price.advice import Advice
from ctxtui.tui.commands import Act, Command
from ctxtui.tui.lists.list_screen import ListScreen
from ctxtui.tui.widgets.board import Board
from ctxtui.tui.widgets.pane import Pane
from ctxtui.views.glossary.spots import Spot
from ctxtui.views.lists import advice
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.text.table import Table

Stopped = Callable[[], bool]
"""Whether nobody waits for the answer any more."""


class StageAdvice(Command):
    """Stage the edits of this piece of advice as one action, under the names of its policies. Nothing leaves before you
    apply them."""

    name, keys, label, group = "stage advice", ("enter",), "stage", "advice"
    run = Act(lambda: AdviceScreen, lambda screen: screen.take())


class CopyAdvice(Command):
    """Copy the command line that does the same to this session."""

    name, keys, label, group = "copy command line", ("y",), "copy the command", "advice"
    run = Act(lambda: AdviceScreen, lambda screen: screen.copy_command())


class AdviceBoard(Board):
    """What the advice under the cursor does and risks, and the command line for it."""

    row: Advice | None = None
    command: Callable[[Advice], str]

    def draw(self, width: int, height: int) -> Sequence[Spans]:
        """In words."""
        return advice.detail(self.row, self.command(self.row), width)[:height] if self.row is not None else ()


class AdviceScreen(ListScreen[Advice, Advice]):
    """Lists what `find` gives, worked out in a worker; `command` gives the command line. Closes with what is
    staged."""

    commands: ClassVar[tuple[type[Command], ...]] = (StageAdvice, CopyAdvice)
    heading, none, least_below = "what would help", "Nothing found that would save anything.", 6
    working = (Span(" · trying every policy and every two of them", "dim"),)
    DEFAULT_CSS = """
    AdviceScreen #what-would-help { height: 1fr; }
    AdviceScreen #advice { height: 1fr; min-height: 6; }
    """

    def __init__(self, find: Callable[[Stopped], list[Advice]], command: Callable[[Advice], str]) -> None:
        self._find = find
        self._command = command
        self.board = AdviceBoard(title="what it does", id="advice")
        self.board.command = command
        super().__init__()

    def below(self) -> Iterable[Widget]:
        """What one does."""
        yield self.board

    def load(self) -> Sequence[Advice]:
        """Search, and price what is found, until the screen is left."""
        worker = get_current_worker()
        return self._find(lambda: worker.is_cancelled)

    def table(self, rows: Sequence[Advice]) -> Table[Advice]:
        """What each would do."""
        return advice.TABLE

    def noted(self, rows: Sequence[Advice]) -> Spans:
        """Over how many calls it saves."""
        return [Span(advice.note(rows), "dim")]

    def show(self, what: Sequence[Advice]) -> None:
        """The rows, and what is said of the one under the cursor."""
        super().show(what)
        self._tell()

    def on_pane_moved(self, message: Pane.Moved) -> None:
        """Another one is under the cursor."""
        self._tell()

    def _tell(self) -> None:
        self.board.row = self.pane.row
        self.board.redraw()

    def sums_beside(self, spot: Spot) -> Mapping[str, str]:
        """Of the one under the cursor."""
        return advice.sums_of(self.pane.row)

    def copy_command(self) -> None:
        """Put the command line into the clipboard, through the terminal."""
        if self.pane.row is not None:
            self.app.copy_to_clipboard(self._command(self.pane.row))
            self.pane.told = [Span("✓ ", "ok"), Span("the command line is copied", "dim")]
            self.pane.refresh_rule()

    def choose(self, row: Advice) -> Advice | None:
        """The one to be staged."""
        return row
