"""Lists of blocks: their rows are marked and edited as those of the transcript, by whom it is there, and the list stays
open."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, Generic, TypeVar

from msgspec.structs import replace

from ctxtui.tui.commands import Act, Command
from ctxtui.tui.lists.list_screen import ListHost, ListScreen
from ctxtui.views.text.signs import MARK
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.text.table import Column, Table

Row = TypeVar("Row")


class BlockList(ListScreen[Row, int], Generic[Row]):
    """A list whose rows are blocks of the context shown; closes with the node of one. Its order and its cursor are as
    they were when it was closed."""

    leave_to_edit: ClassVar[str] = "⏎ goes to the block"

    def __init__(self, host: ListHost) -> None:
        self.host = host
        self.scene = host.scene
        super().__init__()
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
        marked = [Span(f"  {MARK['marked'].glyph} ", "accent"), Span(f"{marks:,} marked", "ink")] if marks else []
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


ON_ROWS: tuple[type[Command], ...] = (GoToBlock, MarkRow, DropRow)
"""What the key line of a list of blocks names first."""
MORE_ON_ROWS: tuple[type[Command], ...] = (ApplyInList, UndoInList, PinRow, TruncateRow, ExternalizeRow)
"""What else is done with its rows."""
