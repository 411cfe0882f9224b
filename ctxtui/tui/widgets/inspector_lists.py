"""The Inspector's side lists: the heaviest blocks, the threads."""

from __future__ import annotations

from collections.abc import Sequence

from ctxtui.tui.look.pane import Pane
from ctxtui.views import heaviest, threads
from ctxtui.views.heaviest import Heavy
from ctxtui.views.span import Span, Spans
from ctxtui.views.threads import ThreadRow


class HeaviestPane(Pane):
    """The heaviest blocks of the context; Enter goes to one."""

    def __init__(self) -> None:
        super().__init__(title="heaviest", join="├", id="heaviest")
        self.rows: Sequence[Heavy] = ()
        self.money = False

    def show(self, rows: Sequence[Heavy], money: bool) -> None:
        """Other blocks; the cursor stays on its block where that is still among them."""
        if tuple(rows) == tuple(self.rows) and money == self.money:
            return
        node = self.node
        self.rows, self.money = rows, money
        found = next((index for index, row in enumerate(rows) if row.node == node), 0)
        self.cursor = min(found, max(0, len(rows) - 1))
        self.reload()

    @property
    def node(self) -> int | None:
        """The node under the cursor."""
        return self.rows[self.cursor].node if self.cursor < len(self.rows) else None

    @property
    def row_count(self) -> int:
        """How many blocks are listed."""
        return len(self.rows)

    def render_row(self, index: int, line: int, width: int) -> Spans:
        """A block."""
        here = index == self.cursor and self.has_focus
        return heaviest.draw(self.rows[index], heaviest.most_of(self.rows), width, here=here, money=self.money)

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
        self.rows: Sequence[ThreadRow] = ()
        self.current = ""

    def show(self, rows: Sequence[ThreadRow], current: str) -> None:
        """Other threads, or another one shown."""
        if tuple(rows) == tuple(self.rows) and current == self.current:
            return
        moved = current != self.current
        self.rows, self.current = rows, current
        if moved:
            self.cursor = next((i for i, row in enumerate(rows) if row.id == current), 0)
        self.reload()

    @property
    def row_count(self) -> int:
        """How many threads there are."""
        return len(self.rows)

    def render_row(self, index: int, line: int, width: int) -> Spans:
        """A thread."""
        row = self.rows[index]
        here = index == self.cursor and self.has_focus
        return threads.draw(row, width, shown=row.id == self.current, here=here)

    def notes(self) -> Spans:
        """How many there are."""
        return [Span(f"{len(self.rows):,}", "dim")] if len(self.rows) > self.body_height else ()
