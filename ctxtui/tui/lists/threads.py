"""The threads of the session as a tree: the main line of context and the agents it started; Enter shows one."""

from __future__ import annotations

from collections.abc import Callable

from ctxtui.analysis.growth.thread_tree import Kin
from ctxtui.tui.lists.list_screen import ListScreen, overlay_bindings
from ctxtui.tui.widgets.pane import Pane
from ctxtui.tui.widgets.table_pane import TablePane
from ctxtui.views.inspector import threads
from ctxtui.views.text.span import Span, Spans

_EVERY = 0.4
"""Seconds between looks at whether more is known."""


class ThreadsScreen(ListScreen[str | None]):
    """Lists what `family` gives, until all of it is priced; `current` is the thread shown, the cursor begins on
    `target`. Closes with the id of the thread that was chosen."""

    BINDINGS = overlay_bindings(())

    def __init__(self, family: Callable[[], list[Kin]], current: str, target: str) -> None:
        self._family = family
        self._target = target

        def draw(row: Kin, room: int, here: bool) -> Spans:
            return threads.draw_kin(row, room - 1, shown=row.id == current, here=here)

        self.pane: TablePane[Kin] = TablePane("threads", draw, "No thread is recorded.")
        self.pane.heads = lambda room: threads.heads(room - 1)
        self.pane.noted = [Span("⏎", "accent bold"), Span(" show", "dim")]
        super().__init__(self.pane)

    def on_mount(self) -> None:
        """Costs come as they are worked out."""
        rows = self._family()
        self.pane.show(rows, cursor=next((i for i, row in enumerate(rows) if row.id == self._target), 0))
        if not all(row.priced for row in rows):
            self.set_interval(_EVERY, self._again)

    def _again(self) -> None:
        rows = self._family()
        if rows != self.pane.rows:
            self.pane.show(rows)

    def on_pane_chosen(self, message: Pane.Chosen) -> None:
        """Show the thread."""
        row = self.pane.row
        self.dismiss(row.id if row is not None else None)
