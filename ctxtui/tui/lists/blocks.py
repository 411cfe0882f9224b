"""Lists of blocks as tabs of one list: heaviest, stale, duplicates, tools by server."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from msgspec.structs import replace

from ctxtui.analysis.content.duplicates import duplicates_in
from ctxtui.analysis.content.tools import ToolServer, count_definitions
from ctxtui.core.tree import ROOT
from ctxtui.services.library.workspace_files import find_duplicates
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
    """A list of blocks of the context shown; its order and cursor stay when it is closed."""

    edit_hint: ClassVar[str] = "⏎ goes to the block"

    tab_group = "blocks"

    def __init__(self, host: InspectorState) -> None:
        super().__init__(host)
        self._unsubscribe: Callable[[], object] | None = None
        self.order, self._cursor_node = host.list_positions.get(type(self).__name__, (self.order, 0))

    @abstractmethod
    def node(self, row: Row) -> int:
        """Return the node of a row's block."""

    @abstractmethod
    def figures(self, rows: Sequence[Row]) -> Table[Row]:
        """Return the table of these rows without the column of signs."""

    def on_mount(self) -> None:
        self._unsubscribe = self.host.subscribe_messages(self._show_message)

    def on_unmount(self) -> None:
        if self._unsubscribe is not None:
            self._unsubscribe()
        row = self.pane.row
        self.host.list_positions[type(self).__name__] = (
            self.order,
            self.node(row) if row is not None else self._cursor_node,
        )

    def first_cursor(self, rows: Sequence[Row]) -> int:
        listed = self.in_order(rows, self.figures(rows))
        return next((index for index, row in enumerate(listed) if self.node(row) == self._cursor_node), 0)

    def _show_message(self, message: Spans) -> None:
        if message:
            self.show_message(message)
        self._redraw()

    def _redraw(self) -> None:
        if self.pane.rows is not None:
            self.update_rule()
            self.draw_rows()

    def table(self, rows: Sequence[Row]) -> Table[Row]:
        table = self.figures(rows)
        return replace(table, columns=(Column("", 2, lambda row, _: self.sign(row), "left"), *table.columns))

    def sign(self, row: Row) -> Span:
        """Return the block's sign in the transcript: marked, dropped, pinned ..."""
        node, staging = self.node(row), self.host.staging
        fate = staging.fate(node) if staging is not None else None
        name = fate.mark if fate is not None else staging.mark(node) if staging is not None else ""
        name = "marked" if node in self.host.marks else name
        return MARK[name].span if name else Span(" ")

    def title_suffix(self, rows: Sequence[Row]) -> Spans:
        if self.scene is None:
            return ()
        marks = len(self.host.marks)
        marked = [Span(f"  {MARK['marked'].glyph} ", "accent"), Span(f"{marks:,} marked")] if marks else []
        return [Span(f"call {self.scene.number:,}", "dim"), *marked]

    def choose(self, row: Row) -> int:
        return self.node(row)

    def done(self, result: int) -> None:
        self.host.to_block(result)

    # Keys

    def mark(self) -> None:
        row = self.pane.row
        if row is not None:
            node, marks = self.node(row), self.host.marks
            self.mark_these([marked for marked in marks if marked != node] if node in marks else [*marks, node])
            self.pane.move_to(self.pane.cursor + 1)

    def mark_these(self, nodes: Sequence[int]) -> None:
        self.host.mark(nodes)
        self.host.show()
        self._redraw()

    def edit(self, kind: str) -> None:
        row, marks = self.pane.row, self.host.marks
        if marks and not any(self.node(each) in marks for each in self.rows):
            message = f"{len(marks):,} marked block{' is' if len(marks) == 1 else 's are'} not in this list. "
            self.show_message([Span(message, "warn"), Span("esc esc", "accent bold"), Span(" clears the marks", "dim")])
        elif row is not None:
            self.host.edit(kind, self.node(row))

    def in_inspector(self, command: str) -> None:
        """Run a command of the inspector; its message is shown here."""
        self.app.screen_stack[-2].call_later(self.app.screen_stack[-2].run_action, f"command('{command}')")


class _BlockListCommand(Command):
    group = "blocks"


class GoToBlock(_BlockListCommand):
    """Close the list and go to this block in the transcript."""

    name, keys, label = "go to the block", ("enter",), "go to it"
    run = Act(lambda: BlockList, lambda screen: screen.accept())


class MarkRow(_BlockListCommand):
    """Mark or unmark the block and go to the next; these are the marks of the transcript."""

    name, keys, label = "mark block", ("space",), "mark"
    run = Act(lambda: BlockList, lambda screen: screen.mark())


class DropRow(_BlockListCommand):
    """Drop the marked blocks, or this one, from the context.

    Again: take it back. The list stays open.
    """

    name, keys, label = "drop block", ("d",), "drop"
    synonyms = ("remove", "delete", "stale", "old", "out")
    run = Act(lambda: BlockList, lambda screen: screen.edit("drop"))


class PinRow(_BlockListCommand):
    """Pin the marked blocks, or this one: no policy changes them. Again: unpin."""

    name, keys = "pin block", ("p",)
    run = Act(lambda: BlockList, lambda screen: screen.edit("pin"))


class TruncateRow(_BlockListCommand):
    """Keep head and tail of the marked blocks, or of this one."""

    name, keys = "truncate block", ("t",)
    run = Act(lambda: BlockList, lambda screen: screen.edit("truncate"))


class ExternalizeRow(_BlockListCommand):
    """Keep the content of the marked blocks, or of this one, outside the context.

    A reference replaces it.
    """

    name, keys = "externalize block", ("x",)
    run = Act(lambda: BlockList, lambda screen: screen.edit("externalize"))


class UndoInList(_BlockListCommand):
    """Undo the last action on the context, as in the transcript. The list stays open."""

    name, keys = "undo edit", ("u",)
    run = Act(lambda: BlockList, lambda screen: screen.in_inspector("Undo"))


class ApplyInList(_BlockListCommand):
    """Apply the staged edits, as in the transcript. The list stays open."""

    name, keys, label = "apply staged edits", ("a",), "apply"
    run = Act(lambda: BlockList, lambda screen: screen.in_inspector("Apply"))


class MarkAll(_BlockListCommand):
    """Mark every block in the list: `d` then drops them as one action."""

    name, keys, label, short_label = "mark all that could go", ("A",), "mark all that could go", "all"
    run = Act(lambda: BlockList, lambda screen: screen.mark_these(list(map(screen.node, screen.pane.rows or ()))))


ON_ROWS: tuple[type[Command], ...] = (GoToBlock, MarkRow, DropRow)
"""Commands that come first in the key line of a list of blocks."""
MORE_ON_ROWS: tuple[type[Command], ...] = (ApplyInList, UndoInList, PinRow, TruncateRow, ExternalizeRow)


class HeaviestScreen(BlockList[HeavyBlock]):
    """The heaviest blocks, by carry, tokens or cost."""

    commands: ClassVar[tuple[type[Command], ...]] = (*ON_ROWS, OrderRows, *MORE_ON_ROWS)
    heading, empty_text, order, max_rows = "heaviest", "No block in this context.", "carry", heaviest_blocks.MAX_BLOCKS

    @classmethod
    def ready(cls, host: InspectorState) -> bool:
        return host.study is not None and host.scene is not None and host.scene.counted

    def load(self) -> Sequence[HeavyBlock]:
        study, scene = self.host.study, self.scene
        if study is None or scene is None:
            return ()
        study_thread = study.thread(scene.thread)
        repeats = duplicates_in(study_thread.repeated, scene.session.tree, scene.head)
        return heaviest_blocks.weigh_blocks(
            scene, study_thread.lifetimes, study_thread.ledger if study_thread.has_costs else None, repeats
        )

    def is_final(self, rows: Sequence[HeavyBlock]) -> bool:
        """Whether all costs up to this call are known, and duplicates were searched for."""
        study, scene = self.host.study, self.scene
        if study is None or scene is None:
            return True
        ledger = study.thread(scene.thread).ledger
        return ledger is not None and ledger.done >= scene.number and study.thread(scene.thread).is_searched

    def figures(self, rows: Sequence[HeavyBlock]) -> Table[HeavyBlock]:
        return heaviest_blocks.table(self.host.preview, rows)

    def node(self, row: HeavyBlock) -> int:
        return row.weight.node

    def sums_of_rule(self) -> Mapping[str, str]:
        return {ROW: heaviest_blocks.explain_total(self.rows)}

    def rule_notes(self, rows: Sequence[HeavyBlock]) -> Spans:
        return heaviest_blocks.total(rows)


class StaleScreen(HeaviestScreen):
    """Results that the model hardly needs any more, the largest first."""

    commands: ClassVar[tuple[type[Command], ...]] = (*ON_ROWS, MarkAll, *MORE_ON_ROWS)
    heading, empty_text, order = "stale", "No result in this context is stale.", "stale"

    def load(self) -> Sequence[HeavyBlock]:
        return [row for row in super().load() if row.stale]

    def figures(self, rows: Sequence[HeavyBlock]) -> Table[HeavyBlock]:
        return heaviest_blocks.stale_table(self.host.preview, rows)

    def sums_of_rule(self) -> Mapping[str, str]:
        return {ROW: heaviest_blocks.explain_stale_tokens(self.rows)}

    def rule_notes(self, rows: Sequence[HeavyBlock]) -> Spans:
        return heaviest_blocks.stale_tokens(rows)


class ShowOther(Command):
    """Close the list and go to the block that repeats this one."""

    name, keys, label, short_label, group = "go to the other copy", ("o",), "other copy", "other", "blocks"
    run = Act(lambda: RepeatsScreen, lambda screen: screen.show_other())


class RepeatsScreen(BlockList[Repeated]):
    """Blocks that repeat others."""

    commands: ClassVar[tuple[type[Command], ...]] = (*ON_ROWS, ShowOther, MarkAll, *MORE_ON_ROWS)
    heading, empty_text = "duplicates", "No block in this context is a duplicate."

    @classmethod
    def ready(cls, host: InspectorState) -> bool:
        return host.scene is not None and host.scene.counted

    def load(self) -> Sequence[Repeated]:
        scene = self.scene
        if scene is None:
            return ()
        tree, running = scene.session.tree, scene.running
        repeats = find_duplicates(scene.session, scene.book.names, scene.head)
        return duplicates.sort_by_size(
            [
                duplicates.duplicate_row(tree, scene.turns, r, running.block_tokens(r.node), running.category(r.node))
                for r in repeats
            ]
        )

    def figures(self, rows: Sequence[Repeated]) -> Table[Repeated]:
        return duplicates.table(self.host.preview, rows)

    def rule_notes(self, rows: Sequence[Repeated]) -> Spans:
        return duplicates.total(rows)

    def sums_of_rule(self) -> Mapping[str, str]:
        return {ROW: duplicates.explain_total(self.rows)}

    def node(self, row: Repeated) -> int:
        return row.repeat.node

    def show_other(self) -> None:
        row = self.pane.row
        if row is not None and row.repeat.counterpart != ROOT:
            self.dismiss(row.repeat.counterpart)
        elif row is not None:
            self.show_message(
                [Span("The same content is in the file, not in this context; there is no other block.", "dim")]
            )


class ToolsScreen(HostedList[ListRow, None]):
    """The tools of the context shown by server, with the thread's calls so far."""

    tab_group = "blocks"
    heading, empty_text = "tools", "No tools in this context."

    @classmethod
    def ready(cls, host: InspectorState) -> bool:
        return host.scene is not None

    def load(self) -> Sequence[ListRow]:
        return toolset.rows(toolset.thread_toolset(self.scene).servers) if self.scene is not None else ()

    def table(self, rows: Sequence[ListRow]) -> Table[ListRow]:
        return toolset.table(rows, self.scene.session.about.source if self.scene is not None else "")

    def title_suffix(self, rows: Sequence[ListRow]) -> Spans:
        return [Span(f"calls up to {self.scene.number:,}", "dim")] if self.scene is not None else ()

    def sums_of_rule(self) -> Mapping[str, str]:
        servers = [row for row in self.rows if isinstance(row, ToolServer)]
        defined, unused = count_definitions(servers)
        return {ROW: f"{defined:,} definitions in {len(servers):,} groups; {unused:,} of them were never called."}

    def rule_notes(self, rows: Sequence[ListRow]) -> Spans:
        servers = tuple(row for row in rows if isinstance(row, ToolServer))
        return toolset.notes(Toolset(servers, *count_definitions(servers)))
