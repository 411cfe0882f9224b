"""Advice: what findings and policies propose for the context shown, in one list. Enter shows the blocks that would
change, a second one stages it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import ClassVar, NamedTuple

from textual.message import Message
from textual.widget import Widget
from textual.worker import get_current_worker

from ctxtui.analysis.findings.priced import Findings
from ctxtui.analysis.findings.suggestions import Suggestion, combine_edits
from ctxtui.core.edit import Edit
from ctxtui.core.errors import CtxtuiError
from ctxtui.curation.price.advice import Advice
from ctxtui.tui.commands import Act, Command
from ctxtui.tui.dialog import Dialog
from ctxtui.tui.lists.list_screen import ListScreen
from ctxtui.tui.widgets.board import Board
from ctxtui.tui.widgets.pane import Pane
from ctxtui.views.glossary.spots import Spot
from ctxtui.views.lists import advice as advice_view
from ctxtui.views.lists import findings as findings_view
from ctxtui.views.lists import suggestions as views
from ctxtui.views.lists.policies import Proposed
from ctxtui.views.lists.suggestions import ChangedBlock
from ctxtui.views.model.preview import Preview
from ctxtui.views.text import safe_text
from ctxtui.views.text.signs import warned
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.text.sums import ROW
from ctxtui.views.text.table import Table

Stopped = Callable[[], bool]
"""Whether nobody waits for the answer any more."""


class AdviceSource(NamedTuple):
    """What the list asks for: `findings` and `advice` in a worker each, `rank` puts them in order, `changed` says which
    blocks edits change. The session is called `name`, `place` are the options of its command lines. `policies` makes
    the list of all policies."""

    name: str
    place: str
    findings: Callable[[], Findings]
    advice: Callable[[Stopped], list[Advice]]
    rank: Callable[[Findings | None, Sequence[Advice]], list[Suggestion]]
    changed: Callable[[Sequence[Edit]], list[ChangedBlock]]
    preview: Callable[[int], Preview]
    policies: Callable[[], Dialog[Proposed]]


class ShowChanges(Command):
    """Show the blocks that would change; Enter there stages the edits as one action. Nothing leaves before you apply
    them. Where nothing can be staged, why is said."""

    name, keys, group = "what would go", ("enter",), "advice"
    label, short = "what would go, then stage", "see, stage"
    run = Act(lambda: AdviceScreen, lambda screen: screen.take())


class StageSafe(Command):
    """Stage everything safe, as one action."""

    name, keys, label, short, group = "stage all that is safe", ("A",), "stage all safe", "all safe", "advice"
    run = Act(lambda: AdviceScreen, lambda screen: screen.take_safe())


class AllPolicies(Command):
    """Every policy with its settings, also those that have nothing to do here."""

    name, keys, label, short, group = "all policies", ("L",), "all policies", "policies", "advice"
    run = Act(lambda: AdviceScreen, lambda screen: screen.show_policies())


class CopyCommand(Command):
    """Copy the command line that makes the same edits."""

    name, keys, label, short, group = "copy command line", ("y",), "copy command", "copy", "advice"
    run = Act(lambda: AdviceScreen, lambda screen: screen.copy_command())


class PartWorked(Message):
    """One of the two searches has ended, or `error` says why not."""

    def __init__(self, part: Findings | list[Advice] | None, error: CtxtuiError | None = None) -> None:
        super().__init__()
        self.part = part
        self.error = error


class AdviceBoard(Board):
    """What is under the cursor, in whole."""

    shown: Callable[[int], list[Spans]] = staticmethod(lambda width: [])

    def draw(self, width: int, height: int) -> Sequence[Spans]:
        """In words."""
        return self.shown(width)[:height]


class AdviceScreen(ListScreen[Suggestion, Sequence[Edit] | Proposed]):
    """Lists what `source` finds. Closes with the edits that are to be staged, or with a policy."""

    commands: ClassVar[tuple[type[Command], ...]] = (ShowChanges, StageSafe, AllPolicies, CopyCommand)
    heading, least_below = "advice", 11
    DEFAULT_CSS = """
    AdviceScreen #advice { height: 1fr; }
    AdviceScreen #what-it-does { height: 1fr; min-height: 7; }
    """

    def __init__(self, source: AdviceSource) -> None:
        self.source = source
        self.found: Findings | None = None
        self.advice: list[Advice] = []
        self._left = 2
        self.board = AdviceBoard(title="what it does", id="what-it-does")
        self.board.shown = self._detail
        super().__init__()

    def below(self) -> Iterable[Widget]:
        """What one does."""
        yield self.board

    def begin(self) -> None:
        """Search twice: what is the case, and what policies would do."""
        self.show(())
        self.run_worker(lambda: self._work(self.source.findings), thread=True)
        self.run_worker(lambda: self._work(self._search), thread=True)

    def _search(self) -> list[Advice]:
        worker = get_current_worker()
        return self.source.advice(lambda: worker.is_cancelled)

    def _work(self, find: Callable[[], Findings | list[Advice]]) -> None:
        try:
            self.post_message(PartWorked(find()))
        except CtxtuiError as error:
            self.post_message(PartWorked(None, error))

    def on_part_worked(self, message: PartWorked) -> None:
        """Take what was found into the list; the cursor stays on its row."""
        self._left -= 1
        if isinstance(message.part, list):
            self.advice = message.part
        elif message.part is not None:
            self.found = message.part
        elif message.error is not None:
            self.said.say(warned(message.error))
        # Who has not moved yet stays at the top.
        before = self.pane.row if self.pane.cursor else None
        self.rows = self.load()
        self.tell()
        self.draw_rows(
            next((n for n, row in enumerate(self.rows) if before is not None and row.what is before.what), 0)
        )
        self._tell()

    @property
    def is_complete(self) -> bool:
        """Whether both searches have ended."""
        return not self._left

    def load(self) -> Sequence[Suggestion]:
        """What is found so far, in order."""
        return self.source.rank(self.found, self.advice)

    def draw_rows(self, cursor: int | None = None) -> None:
        """As others; a list that is still searched for is not empty."""
        none = (
            findings_view.none_found(self.found)
            if self.found is not None
            else "Nothing found that would save anything."
        )
        self.pane.none = none if self.is_complete else "· looking for what would help"
        super().draw_rows(cursor)

    def table(self, rows: Sequence[Suggestion]) -> Table[Suggestion]:
        """What each frees, costs and risks."""
        return views.TABLE

    def noted(self, rows: Sequence[Suggestion]) -> Spans:
        """What is still being looked for."""
        if self.is_complete:
            return [Span("priced at the cheapest moment", "dim")] if rows else ()
        return [Span("· trying policies" if self.found is not None else "· reading every call", "dim")]

    def sums_beside(self, spot: Spot) -> Mapping[str, str]:
        """Of the one under the cursor."""
        return {ROW: views.explain(self.pane.row)} if self.pane.row is not None else {}

    def show(self, what: Sequence[Suggestion]) -> None:
        """The rows, and what is said of the one under the cursor."""
        super().show(what)
        self._tell()

    def on_pane_moved(self, message: Pane.Moved) -> None:
        """Another one is under the cursor."""
        self._tell()

    def _tell(self) -> None:
        self.board.redraw()

    def _detail(self, width: int) -> list[Spans]:
        row = self.pane.row
        return views.detail(row, self.found, self.source.name, self._command(row), width)

    def _command(self, row: Suggestion | None) -> str:
        if row is not None and row.advice is not None:
            return advice_view.command(row.advice, self.source.name, self.source.place)
        if row is not None and row.finding is not None and self.found is not None:
            return findings_view.command(row.finding, self.source.name, self.found)
        return ""

    def copy_command(self) -> None:
        """Put the command line into the clipboard, through the terminal."""
        told = self._command(self.pane.row)
        if told:
            self.app.copy_to_clipboard(told)
            self.said.say([Span("✓ ", "ok"), Span("the command line is copied", "dim")])
        elif self.pane.row is not None:
            self.said.say([Span("no command makes these edits; ⏎ stages them", "dim")])

    def take(self) -> None:
        """Show the blocks that the row would change; Enter there stages it."""
        row = self.pane.row
        if row is None:
            return
        if not row.edits:
            why = row.finding.why_not if row.finding is not None else ""
            self.said.say([Span("nothing to stage: ", "warn"), Span(safe_text.one_line(why))])
            return

        if not self.source.changed(row.edits):
            # They stand already: that is said where they are staged.
            self.dismiss(row.edits)
            return

        def staged(yes: bool | None) -> None:
            if yes:
                self.dismiss(row.edits)

        self.app.push_screen(ChangesScreen(row, self.source), staged)

    def take_safe(self) -> None:
        """Stage all that is safe; of two that change the same block the first one does."""
        edits = combine_edits(row.edits for row in self.rows if row.is_safe and not row.is_warning and row.what.tag)
        if edits:
            self.dismiss(edits)
        else:
            self.said.say([Span("nothing safe frees anything here", "dim")])

    def show_policies(self) -> None:
        """All policies; what is chosen there is staged."""

        def chosen(row: Proposed | None) -> None:
            if row is not None:
                self.dismiss(row)

        self.app.push_screen(self.source.policies(), chosen)


class StageChanges(Command):
    """Stage these edits as one action."""

    name, keys, label, group = "stage", ("enter",), "stage", "advice"
    run = Act(lambda: ChangesScreen, lambda screen: screen.take())


class ChangesScreen(ListScreen[ChangedBlock, bool]):
    """The blocks that `what` would change; closes with whether that is staged."""

    commands: ClassVar[tuple[type[Command], ...]] = (StageChanges,)
    heading, none, at_once, leave = "what would go", "No block of this context would change.", True, "back"

    def __init__(self, what: Suggestion, source: AdviceSource) -> None:
        self.what, self.source = what, source
        super().__init__()

    def load(self) -> Sequence[ChangedBlock]:
        """What differs from the context as it is."""
        return self.source.changed(self.what.edits)

    def settled(self, rows: Sequence[ChangedBlock]) -> bool:
        """Whether every block is counted."""
        return all(row.after is not None for row in rows)

    def table(self, rows: Sequence[ChangedBlock]) -> Table[ChangedBlock]:
        """Each block now and then."""
        return views.changed_table(self.source.preview)

    def told(self, rows: Sequence[ChangedBlock]) -> Spans:
        """Of what."""
        return [Span(views.title(self.what))]

    def noted(self, rows: Sequence[ChangedBlock]) -> Spans:
        """How many, and what that frees."""
        return views.changed_note(self.what, rows)

    def sums_of_rule(self) -> Mapping[str, str]:
        """What it frees, as the list of advice has it."""
        return {ROW: views.explain(self.what)}

    def take(self) -> None:
        """Stage it, whatever row the cursor is on."""
        self.dismiss(True)
