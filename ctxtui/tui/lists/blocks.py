"""Lists of blocks: the heaviest, the stale, those that stand twice, and tools by server, as tabs of one list. Rows are
marked and edited as those of the transcript, by whom it is there, and the list stays open."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from msgspec.structs import replace

from ctxtui.analysis.content.duplicates import duplicates_in
from ctxtui.analysis.content.tools import ToolServer, count_definitions
from ctxtui.core.tree import ROOT
from ctxtui.services.library.workspace_files import repeats_of
from ctxtui.tui.commands import Act, Command
from ctxtui.tui.lists.list_screen import HostedList, OrderRows
from ctxtui.views.inspector import toolset
from ctxtui.views.inspector.toolset import ListRow, Toolset
from ctxtui.views.lists import duplicates
from ctxtui.views.lists.costs import heaviest_blocks
from ctxtui.views.lists.costs.heaviest_blocks import HeavyBlock
from ctxtui.views.lists.duplicates import Repeated
from ctxtui.views.text.signs import MARK
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.text.sums import ROW
from ctxtui.views.text.table import Column, Table

if TYPE_CHECKING:
    from ctxtui.tui.inspector.state import InspectorState


Row = TypeVar("Row")


class BlockList(HostedList[Row, int], Generic[Row]):
    """A list whose rows are blocks of the context shown; closes with the node of one. Its order and its cursor are as
    they were when it was closed."""

    leave_to_edit: ClassVar[str] = "⏎ goes to the block"

    tabs = "blocks"

    def __init__(self, host: InspectorState) -> None:
        super().__init__(host)
        self._end: Callable[[], object] | None = None
        self.order, self._at = host.kept.get(type(self).__name__, (self.order, 0))

    @abstractmethod
    def node(self, row: Row) -> int:
        """The node of a row's block."""

    @abstractmethod
    def figures(self, rows: Sequence[Row]) -> Table[Row]:
        """The table of these rows, without their marks."""

    def on_mount(self) -> None:
        """Hear what keys did."""
        self._end = self.host.hear_said(self._heard)

    def on_unmount(self) -> None:
        """Remember how it stood."""
        if self._end is not None:
            self._end()
        row = self.pane.row
        self.host.kept[type(self).__name__] = self.order, self.node(row) if row is not None else self._at

    def begins_at(self, rows: Sequence[Row]) -> int:
        """The block on which the cursor stood before."""
        listed = self.in_order(rows, self.figures(rows))
        return next((at for at, row in enumerate(listed) if self.node(row) == self._at), 0)

    def _heard(self, words: Spans) -> None:
        if words:
            self.said.say(words)
        self._redraw()

    def _redraw(self) -> None:
        if self.pane.rows is not None:
            self.tell()
            self.draw_rows()

    def table(self, rows: Sequence[Row]) -> Table[Row]:
        """Each block with the sign of what is marked, or of what becomes of it."""
        made = self.figures(rows)
        return replace(made, columns=(Column("", 2, lambda row, _: self.sign(row), "left"), *made.columns))

    def sign(self, row: Row) -> Span:
        """The sign that the block's row has in the transcript: marked, dropped, pinned ..."""
        node, staging = self.node(row), self.host.staging
        fate = staging.fate(node) if staging is not None else None
        name = fate.mark if fate is not None else staging.mark(node) if staging is not None else ""
        name = "marked" if node in self.host.marks else name
        return MARK[name].span if name else Span(" ")

    def told(self, rows: Sequence[Row]) -> Spans:
        """Of which call, and how many blocks are marked."""
        if self.scene is None:
            return ()
        marks = len(self.host.marks)
        marked = [Span(f"  {MARK['marked'].glyph} ", "accent"), Span(f"{marks:,} marked")] if marks else []
        return [Span(f"call {self.scene.number:,}", "dim"), *marked]

    def choose(self, row: Row) -> int:
        """Its node."""
        return self.node(row)

    def done(self, result: int) -> None:
        """To the block."""
        self.host.to_block(result)

    # Keys

    def mark(self) -> None:
        """Mark the block under the cursor, or unmark it, and go on to the next."""
        row = self.pane.row
        if row is not None:
            node, marks = self.node(row), self.host.marks
            self.mark_these([one for one in marks if one != node] if node in marks else [*marks, node])
            self.pane.move_to(self.pane.cursor + 1)

    def mark_these(self, nodes: Sequence[int]) -> None:
        """Mark these blocks, and no others."""
        self.host.mark(nodes)
        self.host.show()
        self._redraw()

    def edit(self, kind: str) -> None:
        """Stage an edit of the marked blocks, or of the one under the cursor."""
        row, marks = self.pane.row, self.host.marks
        if marks and not any(self.node(each) in marks for each in self.rows):
            many = f"{len(marks):,} marked block{' is' if len(marks) == 1 else 's are'} not in this list. "
            self.said.say([Span(many, "warn"), Span("esc esc", "accent bold"), Span(" clears the marks", "dim")])
        elif row is not None:
            self.host.edit(kind, self.node(row))

    def in_inspector(self, command: str) -> None:
        """Do a command of the screen that the list was opened over; what it says is said here."""
        self.app.screen_stack[-2].call_later(self.app.screen_stack[-2].run_action, f"command('{command}')")


class _InList(Command):
    group = "blocks"


class GoToBlock(_InList):
    """Close the list, and go to this block in the transcript."""

    name, keys, label, short = "go to the block", ("enter",), "go to it", "go to it"
    run = Act(lambda: BlockList, lambda screen: screen.take())


class MarkRow(_InList):
    """Mark the block, or unmark it, and go on to the next: the marks are those of the transcript."""

    name, keys, label = "mark block", ("space",), "mark"
    run = Act(lambda: BlockList, lambda screen: screen.mark())


class DropRow(_InList):
    """Leave the marked blocks, or this one, out of the context. Again: take it back. The list stays open."""

    name, keys, label = "drop block", ("d",), "drop"
    sought = ("remove", "delete", "stale", "old", "out")
    run = Act(lambda: BlockList, lambda screen: screen.edit("drop"))


class PinRow(_InList):
    """Pin the marked blocks, or this one: no policy changes them. Again: unpin."""

    name, keys = "pin block", ("p",)
    run = Act(lambda: BlockList, lambda screen: screen.edit("pin"))


class TruncateRow(_InList):
    """Keep head and tail of the marked blocks, or of this one."""

    name, keys = "truncate block", ("t",)
    run = Act(lambda: BlockList, lambda screen: screen.edit("truncate"))


class ExternalizeRow(_InList):
    """Keep the content of the marked blocks, or of this one, outside, and leave a reference."""

    name, keys = "externalize block", ("x",)
    run = Act(lambda: BlockList, lambda screen: screen.edit("externalize"))


class UndoInList(_InList):
    """Undo the last action on the context, as in the transcript. The list stays open."""

    name, keys = "undo edit", ("u",)
    run = Act(lambda: BlockList, lambda screen: screen.in_inspector("Undo"))


class ApplyInList(_InList):
    """Apply what is staged, as in the transcript. The list stays open."""

    name, keys, label = "apply staged edits", ("a",), "apply"
    run = Act(lambda: BlockList, lambda screen: screen.in_inspector("Apply"))


class MarkAll(_InList):
    """Mark every block in the list: `d` then drops them as one action."""

    name, keys, label, short = "mark all that could go", ("A",), "mark all that could go", "all"
    run = Act(lambda: BlockList, lambda screen: screen.mark_these(list(map(screen.node, screen.pane.rows or ()))))


ON_ROWS: tuple[type[Command], ...] = (GoToBlock, MarkRow, DropRow)
"""What the key line of a list of blocks names first."""
MORE_ON_ROWS: tuple[type[Command], ...] = (ApplyInList, UndoInList, PinRow, TruncateRow, ExternalizeRow)
"""What else is done with its rows."""


class HeaviestScreen(BlockList[HeavyBlock]):
    """The heaviest blocks by tokens, by carry or by cost; closes with the node of one."""

    commands: ClassVar[tuple[type[Command], ...]] = (*ON_ROWS, OrderRows, *MORE_ON_ROWS)
    heading, none, order, most = "heaviest", "No block in this context.", "carry", heaviest_blocks.MAX_BLOCKS

    @classmethod
    def ready(cls, host: InspectorState) -> bool:
        """Once the context shown is counted."""
        return host.study is not None and host.scene is not None and host.scene.counted

    def load(self) -> Sequence[HeavyBlock]:
        """Weigh them."""
        study, scene = self.host.study, self.scene
        if study is None or scene is None:
            return ()
        known = study.thread(scene.thread)
        found = duplicates_in(known.repeated, scene.session.tree, scene.head)
        return heaviest_blocks.weigh_blocks(scene, known.stays, known.ledger if known.has_costs else None, found)

    def settled(self, rows: Sequence[HeavyBlock]) -> bool:
        """What blocks cost comes as calls are entered into the ledger."""
        study, scene = self.host.study, self.scene
        if study is None or scene is None:
            return True
        ledger = study.thread(scene.thread).ledger
        return ledger is not None and ledger.done >= scene.number and study.thread(scene.thread).is_searched

    def figures(self, rows: Sequence[HeavyBlock]) -> Table[HeavyBlock]:
        """Each block with its figures."""
        return heaviest_blocks.table(self.host.preview, rows)

    def node(self, row: HeavyBlock) -> int:
        """Its node."""
        return row.weight.node

    def sums_of_rule(self) -> Mapping[str, str]:
        """What all of them carried."""
        return {ROW: heaviest_blocks.explain_total(self.rows)}

    def noted(self, rows: Sequence[HeavyBlock]) -> Spans:
        """What all of them carried."""
        return heaviest_blocks.total(rows)


class StaleScreen(HeaviestScreen):
    """The results that the model hardly needs any more, the largest first."""

    commands: ClassVar[tuple[type[Command], ...]] = (*ON_ROWS, MarkAll, *MORE_ON_ROWS)
    heading, none, order = "stale", "No result in this context is stale.", "stale"

    def load(self) -> Sequence[HeavyBlock]:
        """Those of them that are stale."""
        return [row for row in super().load() if row.stale]

    def figures(self, rows: Sequence[HeavyBlock]) -> Table[HeavyBlock]:
        """Each block, and why it is stale."""
        return heaviest_blocks.stale_table(self.host.preview, rows)

    def sums_of_rule(self) -> Mapping[str, str]:
        """What could go, as a sum."""
        return {ROW: heaviest_blocks.explain_stale_tokens(self.rows)}

    def noted(self, rows: Sequence[HeavyBlock]) -> Spans:
        """What could go."""
        return heaviest_blocks.stale_tokens(rows)


class ShowOther(Command):
    """Close the list, and go to the block that stands for this one."""

    name, keys, label, short, group = "show the other one", ("o",), "show the other", "other", "blocks"
    run = Act(lambda: RepeatsScreen, lambda screen: screen.show_other())


class RepeatsScreen(BlockList[Repeated]):
    """The blocks that repeat others; closes with the node of one."""

    commands: ClassVar[tuple[type[Command], ...]] = (*ON_ROWS, ShowOther, MarkAll, *MORE_ON_ROWS)
    heading, none = "duplicates", "Nothing in this context stands there twice."

    @classmethod
    def ready(cls, host: InspectorState) -> bool:
        """Once the context shown is counted."""
        return host.scene is not None and host.scene.counted

    def load(self) -> Sequence[Repeated]:
        """Look for them, also in the workspace's files."""
        scene = self.scene
        if scene is None:
            return ()
        tree, running = scene.session.tree, scene.running
        found = repeats_of(scene.session, scene.book.names, scene.head)
        return duplicates.sort_by_size(
            [
                duplicates.duplicate_row(tree, scene.turns, r, running.block_tokens(r.node), running.category(r.node))
                for r in found
            ]
        )

    def figures(self, rows: Sequence[Repeated]) -> Table[Repeated]:
        """Each block, and why it could go."""
        return duplicates.table(self.host.preview, rows)

    def noted(self, rows: Sequence[Repeated]) -> Spans:
        """What could go."""
        return duplicates.total(rows)

    def sums_of_rule(self) -> Mapping[str, str]:
        """What could go, as a sum."""
        return {ROW: duplicates.explain_total(self.rows)}

    def node(self, row: Repeated) -> int:
        """Its node."""
        return row.repeat.node

    def show_other(self) -> None:
        """Close with the one that stands for it."""
        row = self.pane.row
        if row is not None and row.repeat.other != ROOT:
            self.dismiss(row.repeat.other)
        elif row is not None:
            self.said.say([Span("it stands in the file, not in this context: there is no other block", "dim")])


class ToolsScreen(HostedList[ListRow, None]):
    """The tools of the scene by server, with the calls of the thread so far."""

    tabs = "blocks"
    heading, none = "tools", "No tools in this context."

    @classmethod
    def ready(cls, host: InspectorState) -> bool:
        """Once a call is shown."""
        return host.scene is not None

    def load(self) -> Sequence[ListRow]:
        """The calls of a long thread take their time."""
        return toolset.rows(toolset.thread_toolset(self.scene).servers) if self.scene is not None else ()

    def table(self, rows: Sequence[ListRow]) -> Table[ListRow]:
        """Each server, then its tools."""
        return toolset.table(rows, self.scene.session.about.source if self.scene is not None else "")

    def told(self, rows: Sequence[ListRow]) -> Spans:
        """Up to which call."""
        return [Span(f"calls up to {self.scene.number:,}", "dim")] if self.scene is not None else ()

    def sums_of_rule(self) -> Mapping[str, str]:
        """How many were never called."""
        servers = [row for row in self.rows if isinstance(row, ToolServer)]
        defined, unused = count_definitions(servers)
        return {ROW: f"{defined:,} definitions in {len(servers):,} groups; {unused:,} of them were never called."}

    def noted(self, rows: Sequence[ListRow]) -> Spans:
        """How many were never called."""
        servers = tuple(row for row in rows if isinstance(row, ToolServer))
        return toolset.notes(Toolset(servers, *count_definitions(servers)))
