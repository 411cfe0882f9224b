"""The compactions of a thread, and the facts that were lost or came back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Final, Generic, NamedTuple, TypeVar

from textual.app import ComposeResult

from ctxtui.analysis.content.compactions import Compaction, Fact, find_compactions
from ctxtui.tui.commands import Act, Command
from ctxtui.tui.lists.list_screen import HostedList
from ctxtui.tui.widgets.board import Board
from ctxtui.views.glossary.spots import Spot
from ctxtui.views.lists import compactions as views
from ctxtui.views.text.span import Span, Spans, plain
from ctxtui.views.text.table import Table

if TYPE_CHECKING:
    from ctxtui.tui.inspector.state import InspectorState


BLOCK, BEFORE, SUMMARIZE, TALK, GO_ON = "block", "before", "summarize", "talk", "go on"


class CompactionAction(NamedTuple):
    """An action at the call before a compaction.

    By `kind`: show the block of `node`, show that call, stage a better summary, chat from that call, or chat from it
    with a better summary.
    """

    kind: str
    compaction: Compaction
    node: int = 0


class ShowFact(Command):
    """Show where this was last in the context before the compaction."""

    name, keys, label, group = "show where it was", ("enter",), "show", "compactions"
    run = Act(lambda: CompactionsScreen, lambda screen: screen.accept())


class NextCompaction(Command):
    """Go to the next compaction."""

    name, keys, shown = "next compaction", ("right_square_bracket",), "[ ]"
    help_partners, help_row = ("PreviousCompaction",), ("[ ]", "previous compaction, next compaction")
    label, group = "compaction", "compactions"
    run = Act(lambda: CompactionsScreen, lambda screen: screen.step(1))


class PreviousCompaction(Command):
    """Go to the previous compaction."""

    name, keys, group = "previous compaction", ("left_square_bracket",), "compactions"
    run = Act(lambda: CompactionsScreen, lambda screen: screen.step(-1))


class LostOrKept(Command):
    """List facts that were lost or read again, that were kept, or both."""

    name, keys, label, short_label, group = "lost or kept", ("tab",), "lost or kept", "kept", "compactions"
    run = Act(lambda: FactList, lambda screen: screen.toggle_listed())


class CallBefore(Command):
    """Show the call before the compaction, with everything it read."""

    name, keys, label, short_label, group = "call before the compaction", ("P",), "call before", "before", "compactions"
    run = Act(lambda: CompactionsScreen, lambda screen: screen.close_with(BEFORE))


class BetterSummary(Command):
    """Go to the call before and stage a better summary: the client's, plus what it lost."""

    name, keys, label, short_label, group = "better summary", ("ctrl+s",), "better summary", "better", "compactions"
    run = Act(lambda: CompactionsScreen, lambda screen: screen.close_with(SUMMARIZE))


class TalkBefore(Command):
    """Continue in a new chat from the call before the compaction, with everything it read."""

    name, keys, label, short_label = "chat from the call before", ("f",), "chat from there", "chat"
    group = "compactions"
    run = Act(lambda: CompactionsScreen, lambda screen: screen.close_with(TALK))


class GoOnBetter(Command):
    """Continue from the call before, with a better summary in place of the history.

    You read it first.
    """

    name, group = "chat with a better summary", "compactions"
    synonyms = ("continue", "resume", "fork", "go on with a better summary")
    run = Act(lambda: CompactionsScreen, lambda screen: screen.close_with(GO_ON))


class BarsBoard(Board):
    """Bars of the context before and after, and sentences about the summary."""

    def __init__(self) -> None:
        super().__init__(title="compaction", id="bars")
        self.compactions: Sequence[Compaction] = ()
        self.index = 0

    def show(self, compactions: Sequence[Compaction], index: int) -> None:
        self.compactions, self.index = compactions, index
        self.redraw()

    def draw(self, width: int, height: int) -> Sequence[Spans]:
        if not self.compactions:
            return ()
        compaction = self.compactions[self.index]
        sentences = list(views.sentences(compaction))
        room = max(1, height - len(sentences) - 1)
        return [views.heads(width), *views.bars_of(compaction, width, room), *sentences][:height]

    def after(self) -> Spans:
        return views.title(self.compactions, self.index) if self.compactions else ()


_MAX_BOARD_LINES: Final = 14
"""Most lines of the bars board."""
Result = TypeVar("Result")


class FactList(HostedList[Fact, Result], Generic[Result]):
    """The facts that a summary lost, those that it kept, or both."""

    compaction: Compaction | None = None
    """The compaction of that summary; None until it is compared."""
    listed = views.LOST

    def __init__(self, host: InspectorState) -> None:
        super().__init__(host)
        self.pane.title = self.listed

    def facts(self) -> Sequence[Fact]:
        return views.facts(self.compaction, self.listed) if self.compaction is not None else ()

    def show(self, rows: Sequence[Fact]) -> None:
        super().show(rows)
        # Also if there are no rows as before: the reason may be another.
        self.draw_rows()

    def draw_rows(self, cursor: int | None = None) -> None:
        self.pane.none = plain(self.loading_text) if self.compaction is None else views.NONE_LISTED[self.listed]
        super().draw_rows(cursor)

    def rule_notes(self, rows: Sequence[Fact]) -> Spans:
        return views.listed_counts(self.compaction, self.listed) if self.compaction is not None else ()

    def list_facts(self) -> None:
        self.rows = self.facts()
        self.update_rule()
        self.draw_rows(0)

    def toggle_listed(self) -> None:
        """Go on from lost facts to kept ones, to both, and again."""
        self.listed = views.FACT_FILTERS[(views.FACT_FILTERS.index(self.listed) + 1) % len(views.FACT_FILTERS)]
        self.pane.title = "lost and kept" if self.listed == views.ALL else self.listed
        self.list_facts()


class CompactionsScreen(FactList[CompactionAction]):
    """The facts of each compaction; begins with the last up to call `number`, else the first."""

    commands: ClassVar[tuple[type[Command], ...]] = (
        ShowFact, NextCompaction, PreviousCompaction, LostOrKept, CallBefore, GoOnBetter, BetterSummary, TalkBefore,
    )  # fmt: skip
    heading, esc_label = "facts", "back"
    loading_text = (Span(" · comparing the contexts before and after", "dim"),)
    DEFAULT_CSS = """
    CompactionsScreen #bars { height: 10; }
    CompactionsScreen #facts { height: 1fr; }
    """

    def __init__(self, host: InspectorState, number: int) -> None:
        self.compactions: Sequence[Compaction] = ()
        self.index = 0
        self._number = number
        self._thread = host.thread
        self._has_all_costs = False
        self._bars = BarsBoard()
        super().__init__(host)

    def compose(self) -> ComposeResult:
        yield self._bars
        yield from super().compose()

    def load(self) -> Sequence[Fact]:
        study = self.host.study
        if study is None:
            return ()
        thread_study = study.thread(self._thread)
        ledger, calls = thread_study.ledger, len(thread_study.calls)
        # Check this first: costs entered during the load need another load.
        self._has_all_costs = ledger is not None and ledger.done >= calls
        first = not self.compactions

        def usd(node: int, tokens: int) -> float | None:
            return ledger.block_usd(node, tokens, calls) if ledger is not None else None

        compactions = find_compactions(study.book, self._thread, usd)
        if first:
            self.index = max(
                (n for n, compaction in enumerate(compactions) if compaction.number <= self._number), default=0
            )
        self.compactions = compactions
        self.compaction = compactions[self.index] if compactions else None
        return self.facts()

    def is_final(self, rows: Sequence[Fact]) -> bool:
        return self._has_all_costs

    def show(self, rows: Sequence[Fact]) -> None:
        self._bars.styles.height = max(7, min(_MAX_BOARD_LINES, self.size.height * 45 // 100))
        self._bars.show(self.compactions, self.index)
        super().show(rows)

    def table(self, rows: Sequence[Fact]) -> Table[Fact]:
        return views.TABLE

    def sums_beside(self, spot: Spot) -> Mapping[str, str]:
        return views.explain_bars(self.compaction) if self.compaction is not None else {}

    def step(self, step: int) -> None:
        index = min(max(0, self.index + step), len(self.compactions) - 1)
        if self.compactions and index != self.index:
            self.index, self.compaction = index, self.compactions[index]
            self._bars.show(self.compactions, self.index)
            self.list_facts()

    def close_with(self, kind: str) -> None:
        if self.compaction is not None:
            self.dismiss(CompactionAction(kind, self.compaction))

    def choose(self, row: Fact) -> CompactionAction | None:
        return CompactionAction(BLOCK, self.compaction, row.node) if self.compaction is not None else None
