"""The held summary of a client's compaction, and the facts that it loses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from textual.app import ComposeResult

from ctxtui.analysis.content.compactions import Compaction, Fact, improve_summary, keep_fact, preview_compaction
from ctxtui.tui.commands import Act, Command
from ctxtui.tui.lists.compactions import BLOCK, CompactionAction, FactList, LostOrKept
from ctxtui.tui.widgets.board import Board
from ctxtui.views.lists import compactions as views
from ctxtui.views.text import safe_text
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.text.table import Table

if TYPE_CHECKING:
    from ctxtui.tui.inspector.state import InspectorState


class SummaryChange(NamedTuple):
    """The summary as the user changed it.

    Next, show the fact `shown`, edit the text (`edits`), or neither.
    """

    summary: str
    shown: CompactionAction | None = None
    edits: bool = False


class ShowHeldFact(Command):
    """Show where this was last in the history; the summary stays held."""

    name, keys, label, group = "show where it was", ("enter",), "show", "held compaction"
    run = Act(lambda: HeldCompactionScreen, lambda screen: screen.accept())


class KeepFact(Command):
    """Add this fact to the summary."""

    name, keys, shown = "keep this fact", ("plus",), "+"
    label, group = "keep", "held compaction"
    run = Act(lambda: HeldCompactionScreen, lambda screen: screen.keep())


class BetterHeldSummary(Command):
    """Add to the summary the files and decisions that it loses."""

    name, keys, label, short_label = "better summary", ("ctrl+s",), "better summary", "better"
    group = "held compaction"
    run = Act(lambda: HeldCompactionScreen, lambda screen: screen.keep_all())


class EditSummary(Command):
    """Edit the summary's text."""

    name, keys, label, group = "edit the summary", ("R",), "edit", "held compaction"
    run = Act(lambda: HeldCompactionScreen, lambda screen: screen.edit())


class LostOrKeptFacts(LostOrKept):
    """List the facts that the summary loses, that it keeps, or both."""

    group = "held compaction"


class SummaryBoard(Board):
    """The summary's text, and sentences about it."""

    def __init__(self) -> None:
        super().__init__(title="summary", id="summary")
        self.text = ""
        self.compaction: Compaction | None = None

    def show(self, text: str, compaction: Compaction | None) -> None:
        self.text, self.compaction = text, compaction
        self.redraw()

    def draw(self, width: int, height: int) -> Sequence[Spans]:
        """Draw the sentences below as many lines of the text as fit."""
        sentences = list(views.sentences(self.compaction)) if self.compaction is not None else []
        lines = [
            line
            for part in self.text.splitlines()
            for line in safe_text.wrap(safe_text.line(part), max(1, width - 2)) or [""]
        ]
        room = max(1, height - len(sentences))
        if len(lines) > room:
            lines[room - 1 :] = [f"… {len(lines) - room + 1:,} more lines; R shows them"]
        return [*([Span(f" {line}", "ink")] for line in lines), *sentences][:height]

    def after(self) -> Spans:
        return views.title([self.compaction], 0) if self.compaction is not None else ()


class HeldCompactionScreen(FactList[SummaryChange]):
    """The losses of a held `summary` of `thread`.

    The result has the summary as the user changed it.
    """

    commands: ClassVar[tuple[type[Command], ...]] = (
        ShowHeldFact, KeepFact, BetterHeldSummary, EditSummary, LostOrKeptFacts,
    )  # fmt: skip
    heading, esc_label = "held summary", "decide"
    loading_text = (Span(" · comparing the summary with the history", "dim"),)
    DEFAULT_CSS = """
    HeldCompactionScreen #summary { height: 10; }
    HeldCompactionScreen #held-summary { height: 1fr; }
    """

    def __init__(self, host: InspectorState, thread: str, summary: str) -> None:
        self.summary = summary
        self._thread = thread
        self._summary_board = SummaryBoard()
        super().__init__(host)

    def compose(self) -> ComposeResult:
        yield self._summary_board
        yield from super().compose()

    def load(self) -> Sequence[Fact]:
        """Compare the summary with the history, once that is counted."""
        study = self.host.study
        if study is None or not study.book.is_settled:
            return ()
        thread = study.session.threads.get(self._thread)
        tip = thread.tip if thread is not None else 0
        self.compaction = preview_compaction(study.book, self._thread, self.summary, tip or None)
        return self.facts()

    def is_final(self, rows: Sequence[Fact]) -> bool:
        """Whether the summary was compared."""
        return self.compaction is not None

    def show(self, rows: Sequence[Fact]) -> None:
        self._summary_board.styles.height = max(7, self.size.height * 45 // 100)
        self._summary_board.show(self.summary, self.compaction)
        super().show(rows)

    def table(self, rows: Sequence[Fact]) -> Table[Fact]:
        return views.HELD_TABLE

    def keep(self) -> None:
        row = self.pane.row
        if row is not None and not row.is_kept:
            self._change(keep_fact(self.summary, row))

    def keep_all(self) -> None:
        study = self.host.study
        if study is not None and self.compaction is not None:
            self._change(improve_summary(study.session.tree, self.compaction, self.summary))

    def edit(self) -> None:
        self.dismiss(SummaryChange(self.summary, edits=True))

    def _change(self, summary: str) -> None:
        self.summary = summary
        self.begin()

    async def action_dismiss(self, result: SummaryChange | None = None) -> None:
        await super().action_dismiss(result or SummaryChange(self.summary))

    def choose(self, row: Fact) -> SummaryChange | None:
        if self.compaction is None:
            return None
        return SummaryChange(self.summary, CompactionAction(BLOCK, self.compaction, row.node))
