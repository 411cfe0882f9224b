"""The compactions of a thread over the Inspector: the context before and after, and what was lost and came back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

from textual.app import ComposeResult

from ctxtui.analysis.content.compactions import Compaction, Fact, find_compactions
from ctxtui.tui.commands import Act, Command
from ctxtui.tui.lists.list_screen import HostedList
from ctxtui.tui.widgets.board import Board
from ctxtui.views.glossary.spots import Spot
from ctxtui.views.lists import compactions as views
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.text.table import Table

if TYPE_CHECKING:
    from ctxtui.tui.inspector.state import InspectorState


BLOCK, BEFORE, SUMMARIZE, TALK, GO_ON = "block", "before", "summarize", "talk", "go on"


class CompactionWish(NamedTuple):
    """What the screen closes with: show the block of `node` in the call before a compaction, show that call, stage a
    better summary there, talk from there, or from there with the better summary."""

    kind: str
    one: Compaction
    node: int = 0


class ShowFact(Command):
    """Show where this stood last before the compaction."""

    name, keys, label, short, group = "show where it stood", ("enter",), "show", "show", "compactions"
    run = Act(lambda: CompactionsScreen, lambda screen: screen.take())


class NextCompaction(Command):
    """The next compaction."""

    name, keys, shown = "next compaction", ("right_square_bracket",), "[ ]"
    beside, together = ("PreviousCompaction",), ("[ ]", "previous compaction, next compaction")
    label, group = "compaction", "compactions"
    run = Act(lambda: CompactionsScreen, lambda screen: screen.step(1))


class PreviousCompaction(Command):
    """The compaction before."""

    name, keys, group = "previous compaction", ("left_square_bracket",), "compactions"
    run = Act(lambda: CompactionsScreen, lambda screen: screen.step(-1))


class LostOrKept(Command):
    """List what was lost or read again, what was kept, or both."""

    name, keys, label, short, group = "lost or kept", ("tab",), "lost or kept", "kept", "compactions"
    run = Act(lambda: CompactionsScreen, lambda screen: screen.next_shown())


class CallBefore(Command):
    """Show the call before the compaction, with all that it read."""

    name, keys, label, short, group = "call before the compaction", ("P",), "call before", "before", "compactions"
    run = Act(lambda: CompactionsScreen, lambda screen: screen.wish(BEFORE))


class BetterSummary(Command):
    """Go to the call before, and stage a better summary there: the client's, with the files and decisions that it lost
    and what somebody had to spell out again. Read it, change it, apply it; then go on from there."""

    name, keys, label, short, group = "better summary", ("ctrl+s",), "better summary", "better", "compactions"
    run = Act(lambda: CompactionsScreen, lambda screen: screen.wish(SUMMARIZE))


class TalkBefore(Command):
    """Go on from the call before the compaction, with all that it read: a chat of its own."""

    name, keys, label, short, group = "go on from the call before", ("f",), "go on from there", "go on", "compactions"
    run = Act(lambda: CompactionsScreen, lambda screen: screen.wish(TALK))


class GoOnBetter(Command):
    """Go on from the call before with a better summary in place of all that was said there: it is opened to be read,
    and enter begins a chat of its own with it."""

    name, group = "go on with a better summary", "compactions"
    sought = ("continue", "resume", "fork")
    run = Act(lambda: CompactionsScreen, lambda screen: screen.wish(GO_ON))


class BarsBoard(Board):
    """The context before and after, and what the summary kept."""

    def __init__(self) -> None:
        super().__init__(title="compaction", id="bars")
        self.every: Sequence[Compaction] = ()
        self.index = 0

    def show(self, every: Sequence[Compaction], index: int) -> None:
        """Another one of these."""
        self.every, self.index = every, index
        self.redraw()

    def draw(self, width: int, height: int) -> Sequence[Spans]:
        """Bars as many as there is room for, then what is said of them."""
        if not self.every:
            return ()
        one = self.every[self.index]
        told = list(views.sentences(one))
        room = max(1, height - len(told) - 1)
        return [views.heads(width), *views.bars_of(one, width, room), *told][:height]

    def after(self) -> Spans:
        """Which one it is."""
        return views.title(self.every, self.index) if self.every else ()


_MOST: Final = 14
"""Lines of the bars, at most."""


class CompactionsScreen(HostedList[Fact, CompactionWish]):
    """The facts of one compaction after the other; begins with the one before call `number`."""

    commands: ClassVar[tuple[type[Command], ...]] = (
        ShowFact,
        NextCompaction,
        PreviousCompaction,
        LostOrKept,
        CallBefore,
        GoOnBetter,
        BetterSummary,
        TalkBefore,
    )
    heading, leave, inset, none = "facts", "back", 1, "Nothing that is looked for was lost."
    working = (Span(" · comparing what stood before and after", "dim"),)
    DEFAULT_CSS = """
    CompactionsScreen #bars { height: 10; }
    CompactionsScreen #facts { height: 1fr; }
    """

    def __init__(self, host: InspectorState, number: int) -> None:
        self.every: Sequence[Compaction] = ()
        self.index = 0
        self.listed = views.LOST
        self._number = number
        self._thread = host.thread
        self._whole = False
        self._bars = BarsBoard()
        super().__init__(host)
        self.pane.title = "lost"

    def compose(self) -> ComposeResult:
        """The bars above the list."""
        yield self._bars
        yield from super().compose()

    def load(self) -> Sequence[Fact]:
        """All compactions of the thread, with what is known of the costs now."""
        study = self.host.study
        if study is None:
            return ()
        known = study.thread(self._thread)
        ledger, calls = known.ledger, len(known.calls)
        # Asked first: what is entered meanwhile is worth another look.
        self._whole = ledger is not None and ledger.done >= calls
        first = not self.every

        def usd(node: int, tokens: int) -> float | None:
            return ledger.block_usd(node, tokens, calls) if ledger is not None else None

        every = find_compactions(study.book, self._thread, usd)
        if first:
            self.index = max((n for n, one in enumerate(every) if one.number <= self._number), default=0)
        self.every = every
        return self._facts()

    def _facts(self) -> Sequence[Fact]:
        return views.facts(self.every[self.index], self.listed) if self.every else ()

    def settled(self, rows: Sequence[Fact]) -> bool:
        """Until all costs are entered."""
        return self._whole

    def show(self, what: Sequence[Fact]) -> None:
        """The bars, and the list."""
        self._bars.styles.height = max(7, min(_MOST, self.size.height * 45 // 100))
        self._bars.show(self.every, self.index)
        super().show(what)

    def table(self, rows: Sequence[Fact]) -> Table[Fact]:
        """Each fact, and how it came back."""
        return views.TABLE

    def noted(self, rows: Sequence[Fact]) -> Spans:
        """How many were lost."""
        return views.listed_counts(self.every[self.index], self.listed) if self.every else ()

    def sums_beside(self, spot: Spot) -> Mapping[str, str]:
        """Of the bars."""
        return views.explain_bars(self.every[self.index]) if self.every else {}

    def step(self, step: int) -> None:
        """To the next compaction, or the one before."""
        index = min(max(0, self.index + step), len(self.every) - 1)
        if self.every and index != self.index:
            self.index = index
            self._again()

    def next_shown(self) -> None:
        """List what was kept, too, or alone."""
        self.listed = views.FACT_FILTERS[(views.FACT_FILTERS.index(self.listed) + 1) % len(views.FACT_FILTERS)]
        self.pane.title = "lost and kept" if self.listed == views.ALL else self.listed
        self._again()

    def _again(self) -> None:
        self._bars.show(self.every, self.index)
        self.rows = self._facts()
        self.tell()
        self.draw_rows(0)

    def wish(self, kind: str) -> None:
        """Close with what is to be done at the call before."""
        if self.every:
            self.dismiss(CompactionWish(kind, self.every[self.index]))

    def choose(self, row: Fact) -> CompactionWish:
        """Its block."""
        return CompactionWish(BLOCK, self.every[self.index], row.node)
