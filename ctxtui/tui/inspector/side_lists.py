"""The Inspector's side lists: the heaviest blocks, the threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ctxtui.tui.lazy import later
from ctxtui.tui.widgets.pane import Pane
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.text.table import Table

if TYPE_CHECKING:
    from ctxtui.views.inspector import heaviest, threads
else:
    heaviest = later("ctxtui.views.inspector.heaviest")
    threads = later("ctxtui.views.inspector.threads")


class HeaviestPane(Pane):
    """The heaviest blocks of the context; Enter goes to one. Only rows in view are made."""

    def __init__(self) -> None:
        super().__init__(title="heaviest", join="├", id="heaviest")
        self.nodes: Sequence[int] = ()
        self.money = False
        self._make: Callable[[int], heaviest.HeaviestRow] | None = None
        self._table: Table[heaviest.HeaviestRow] | None = None
        self._most = 0
        self._painted_rows: dict[int, heaviest.HeaviestRow] = {}

    def show(self, nodes: Sequence[int], most: int, money: bool, make: Callable[[int], heaviest.HeaviestRow]) -> None:
        """Other blocks, heaviest first; `make` gives the row of a node, `most` are the tokens of a full bar. The cursor
        stays on its block where that is still among them. Where nothing in view is another, nothing is painted."""
        same = (nodes, most, money) == (self.nodes, self._most, self.money)
        self._make = make
        if same and all(make(node) == row for node, row in self._painted_rows.items()):
            return
        node = self.node
        self.nodes, self._most, self.money = nodes, most, money
        self._painted_rows.clear()
        self._table = heaviest.table(most, money=money)
        self.cursor = nodes.index(node) if node in nodes else 0
        self.reload()

    @property
    def node(self) -> int | None:
        """The node under the cursor."""
        return self.nodes[self.cursor] if self.cursor < len(self.nodes) else None

    @property
    def row_count(self) -> int:
        """How many blocks are listed."""
        return len(self.nodes)

    def render_row(self, index: int, line: int, width: int) -> Spans:
        """A block."""
        assert self._make is not None and self._table is not None
        here = index == self.cursor and self.has_focus
        node = self.nodes[index]
        row = self._painted_rows[node] = self._make(node)
        return self._table.draw(row, width, here=here)

    def empty(self) -> Spans:
        """While tokens are being counted."""
        return [Span("·", "faint")]

    def notes(self) -> Spans:
        """What the money means."""
        return [Span("since they entered", "dim")] if self.money else ()


class ThreadsPane(Pane):
    """The threads of the session; Enter shows one."""

    def __init__(self) -> None:
        super().__init__(title="threads", join="├", id="threads")
        self.rows: Sequence[threads.ThreadRow] = ()
        self.current = ""
        self._table: Table[threads.ThreadRow] | None = None

    def show(self, rows: Sequence[threads.ThreadRow], current: str) -> None:
        """Other threads, or another one shown."""
        if tuple(rows) == tuple(self.rows) and current == self.current:
            return
        moved = current != self.current
        self.rows, self.current, self._table = rows, current, threads.pane_table(current)
        if moved:
            self.cursor = next((i for i, row in enumerate(rows) if row.id == current), 0)
        self.reload()

    @property
    def row_count(self) -> int:
        """How many threads there are."""
        return len(self.rows)

    def render_row(self, index: int, line: int, width: int) -> Spans:
        """A thread."""
        assert self._table is not None
        here = index == self.cursor and self.has_focus
        return self._table.draw(self.rows[index], width, here=here)

    def notes(self) -> Spans:
        """The heads of the figures."""
        return [Span(threads.PANE_HEADS, "dim")]
