"""The tree of forks: Enter opens a session, or goes to the call with which a branch begins."""

from __future__ import annotations

from collections.abc import Callable

from textual.message import Message

from ctxtui.core.errors import CtxtuiError
from ctxtui.tui.lists.list_screen import ListScreen, overlay_bindings
from ctxtui.tui.widgets.pane import Pane
from ctxtui.tui.widgets.table_pane import TablePane
from ctxtui.views.lists import forks
from ctxtui.views.lists.forks import ForkRow
from ctxtui.views.text import safe_text
from ctxtui.views.text.span import Span, Spans


class ForksScreen(ListScreen[ForkRow]):
    """Lists what `make` gives, in a worker; closes with the row that was chosen."""

    BINDINGS = overlay_bindings(())

    class Made(Message):
        """The tree, or why there is none."""

        def __init__(self, what: list[ForkRow] | CtxtuiError) -> None:
            super().__init__()
            self.what = what

    def __init__(self, make: Callable[[], list[ForkRow]]) -> None:
        self._make = make

        def draw(row: ForkRow, room: int, here: bool) -> Spans:
            return forks.draw(row, room - 1, here=here)

        self.pane: TablePane[ForkRow] = TablePane("forks", draw, "Nothing is recorded.")
        self.pane.heads = lambda room: forks.heads(room - 1)
        super().__init__(self.pane)

    def on_mount(self) -> None:
        """Look."""
        self.run_worker(self._work, thread=True, exclusive=True)

    def _work(self) -> None:
        try:
            found: list[ForkRow] | CtxtuiError = self._make()
        except CtxtuiError as error:
            found = error
        self.post_message(self.Made(found))

    def on_forks_screen_made(self, message: Made) -> None:
        """Show it; the cursor stands on the session that is open."""
        if isinstance(message.what, CtxtuiError):
            self.pane.told = [Span(safe_text.one_line(str(message.what), 300), "warn")]
            self.pane.show([])
            return
        rows = message.what
        if len(rows) == 1:
            self.pane.told = [Span("none yet: ", "dim"), Span("f", "accent bold"), Span(" talks from a call", "dim")]
        self.pane.noted = forks.notes(rows)
        self.pane.show(rows, cursor=next((n for n, row in enumerate(rows) if row.here), 0))

    def on_pane_chosen(self, message: Pane.Chosen) -> None:
        """Close with it."""
        row = self.pane.row
        if row is not None:
            self.dismiss(row)
