"""Advice: proposals of findings and policies for the context shown, in one list."""

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
from ctxtui.services.worker import end_when_closed
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
"""Returns whether the search was cancelled."""


class AdviceSource(NamedTuple):
    """Functions behind the advice list.

    - `findings`, `advice`: run in a worker each; `rank`: sorts their results.
    - `changed`: returns the blocks that edits change.
    - `name`: the session; `place`: the options of its command lines.
    - `policies`: makes the list of all policies; `preview`: returns the preview of a node's block.
    """

    name: str
    place: str
    findings: Callable[[], Findings]
    advice: Callable[[Stopped], list[Advice]]
    rank: Callable[[Findings | None, Sequence[Advice]], list[Suggestion]]
    changed: Callable[[Sequence[Edit]], list[ChangedBlock]]
    preview: Callable[[int], Preview]
    policies: Callable[[], Dialog[Proposed]]


class ShowChanges(Command):
    """Show the blocks that would change, or why there is nothing to stage.

    Enter there stages the edits.
    """

    name, keys, group = "what would go", ("enter",), "advice"
    label, short_label = "what would go, then stage", "see, stage"
    run = Act(lambda: AdviceScreen, lambda screen: screen.accept())


class StageSafe(Command):
    """Stage all safe advice that frees tokens, as one action."""

    name, keys, label, short_label, group = "stage all that is safe", ("A",), "stage all safe", "all safe", "advice"
    run = Act(lambda: AdviceScreen, lambda screen: screen.stage_safe())


class AllPolicies(Command):
    """List every policy with its settings, including those without a proposal here."""

    name, keys, label, short_label, group = "all policies", ("L",), "all policies", "policies", "advice"
    run = Act(lambda: AdviceScreen, lambda screen: screen.show_policies())


class CopyCommand(Command):
    """Copy the command line that makes the same edits."""

    name, keys, label, short_label, group = "copy command line", ("y",), "copy command", "copy", "advice"
    run = Act(lambda: AdviceScreen, lambda screen: screen.copy_command())


class SearchEnded(Message):
    """One of the two searches ended with `result`, or failed with `error`."""

    def __init__(self, result: Findings | list[Advice] | None, error: CtxtuiError | None = None) -> None:
        super().__init__()
        self.result = result
        self.error = error


class AdviceBoard(Board):
    """Details of the row under the cursor."""

    shown: Callable[[int], list[Spans]] = staticmethod(lambda width: [])

    def draw(self, width: int, height: int) -> Sequence[Spans]:
        return self.shown(width)[:height]


class AdviceScreen(ListScreen[Suggestion, Sequence[Edit] | Proposed]):
    """Lists the proposals of `source`. Closes with edits to stage, or with a policy."""

    commands: ClassVar[tuple[type[Command], ...]] = (ShowChanges, StageSafe, AllPolicies, CopyCommand)
    heading, min_lines_below = "advice", 11
    DEFAULT_CSS = """
    AdviceScreen #advice { height: 1fr; }
    AdviceScreen #what-it-does { height: 1fr; min-height: 7; }
    """

    def __init__(self, source: AdviceSource) -> None:
        self.source = source
        self.findings: Findings | None = None
        self.advice: list[Advice] = []
        self._searches_left = 2
        self.board = AdviceBoard(title="what it does", id="what-it-does")
        self.board.shown = self._detail
        super().__init__()

    def below(self) -> Iterable[Widget]:
        yield self.board

    def begin(self) -> None:
        """Start both searches: findings and policies."""
        self.show(())
        self.run_worker(end_when_closed(lambda: self._work(self.source.findings)), thread=True)
        self.run_worker(end_when_closed(lambda: self._work(self._search)), thread=True)

    def _search(self) -> list[Advice]:
        worker = get_current_worker()
        return self.source.advice(lambda: worker.is_cancelled)

    def _work(self, find: Callable[[], Findings | list[Advice]]) -> None:
        try:
            self.post_message(SearchEnded(find()))
        except CtxtuiError as error:
            self.post_message(SearchEnded(None, error))

    def on_search_ended(self, message: SearchEnded) -> None:
        self._searches_left -= 1
        if isinstance(message.result, list):
            self.advice = message.result
        elif message.result is not None:
            self.findings = message.result
        elif message.error is not None:
            self.show_message(warned(message.error))
        # A cursor that was not moved yet stays at the top.
        previous = self.pane.row if self.pane.cursor else None
        self.rows = self.load()
        self.update_rule()
        self.draw_rows(
            next((n for n, row in enumerate(self.rows) if previous is not None and row.what is previous.what), 0)
        )
        self.board.redraw()

    @property
    def is_complete(self) -> bool:
        """Whether both searches have ended."""
        return not self._searches_left

    def load(self) -> Sequence[Suggestion]:
        return self.source.rank(self.findings, self.advice)

    def draw_rows(self, cursor: int | None = None) -> None:
        """Draw the rows; while searches run, an empty list says so."""
        empty_text = (
            findings_view.none_found(self.findings)
            if self.findings is not None
            else "Found nothing that would save tokens or money."
        )
        self.pane.none = empty_text if self.is_complete else "· searching for advice"
        super().draw_rows(cursor)

    def table(self, rows: Sequence[Suggestion]) -> Table[Suggestion]:
        return views.TABLE

    def rule_notes(self, rows: Sequence[Suggestion]) -> Spans:
        if self.is_complete:
            return [Span("priced at the cheapest moment", "dim")] if rows else ()
        return [Span("· trying policies" if self.findings is not None else "· reading every call", "dim")]

    def sums_beside(self, spot: Spot) -> Mapping[str, str]:
        return {ROW: views.explain(self.pane.row)} if self.pane.row is not None else {}

    def on_pane_moved(self, message: Pane.Moved) -> None:
        self.board.redraw()

    def _detail(self, width: int) -> list[Spans]:
        row = self.pane.row
        return views.detail(row, self.findings, self.source.name, self._command(row), width)

    def _command(self, row: Suggestion | None) -> str:
        if row is not None and row.advice is not None:
            return advice_view.command(row.advice, self.source.name, self.source.place)
        if row is not None and row.finding is not None and self.findings is not None:
            return findings_view.command(row.finding, self.source.name, self.findings)
        return ""

    def copy_command(self) -> None:
        command, row = self._command(self.pane.row), self.pane.row
        if command:
            self.app.copy_to_clipboard(command)
            self.show_message([Span("✓ ", "ok"), Span("command line copied", "dim")])
        elif row is not None and row.edits:
            self.show_message([Span("No command line makes these edits; ⏎ stages them.", "dim")])
        else:
            self.accept()

    def accept(self) -> None:
        """Show the blocks that the row would change, or why there is nothing to stage.

        If no block would change, stage its edits at once, which says so.
        """
        row = self.pane.row
        if row is None:
            return
        if not row.edits:
            why = row.finding.why_not if row.finding is not None else ""
            self.show_message([Span("Nothing to stage: ", "warn"), Span(safe_text.one_line(why))])
            return
        if not self.source.changed(row.edits):
            self.dismiss(row.edits)
            return

        def staged(yes: bool | None) -> None:
            if yes:
                self.dismiss(row.edits)

        self.app.push_screen(ChangesScreen(row, self.source), staged)

    def stage_safe(self) -> None:
        """Stage all safe advice that frees tokens, for each block the first proposal."""
        edits = combine_edits(row.edits for row in self.rows if row.is_safe and not row.is_warning and row.what.tag)
        if edits:
            self.dismiss(edits)
        else:
            self.show_message([Span("No safe advice frees tokens here.", "dim")])

    def show_policies(self) -> None:

        def chosen(row: Proposed | None) -> None:
            if row is not None:
                self.dismiss(row)

        self.app.push_screen(self.source.policies(), chosen)


class StageChanges(Command):
    """Stage these edits as one action."""

    name, keys, label, group = "stage", ("enter",), "stage", "advice"
    run = Act(lambda: ChangesScreen, lambda screen: screen.accept())


class ChangesScreen(ListScreen[ChangedBlock, bool]):
    """The blocks that a `suggestion` would change.

    It closes with True if its edits are to be staged.
    """

    commands: ClassVar[tuple[type[Command], ...]] = (StageChanges,)
    heading, empty_text = "what would go", "No block of this context would change."
    loads_at_once, esc_label = True, "back"

    def __init__(self, suggestion: Suggestion, source: AdviceSource) -> None:
        self.suggestion, self.source = suggestion, source
        super().__init__()

    def load(self) -> Sequence[ChangedBlock]:
        return self.source.changed(self.suggestion.edits)

    def is_final(self, rows: Sequence[ChangedBlock]) -> bool:
        return all(row.after is not None for row in rows)

    def table(self, rows: Sequence[ChangedBlock]) -> Table[ChangedBlock]:
        return views.changed_table(self.source.preview)

    def title_suffix(self, rows: Sequence[ChangedBlock]) -> Spans:
        return [Span(views.title(self.suggestion))]

    def rule_notes(self, rows: Sequence[ChangedBlock]) -> Spans:
        return views.changed_note(self.suggestion, rows)

    def sums_of_rule(self) -> Mapping[str, str]:
        return {ROW: views.explain(self.suggestion)}

    def accept(self) -> None:
        """Stage the edits, whatever row the cursor is on."""
        self.dismiss(True)
