"""The tree of forks: Enter opens a session, or goes to the call with which a branch begins."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ctxtui.tui.lists.list_screen import ListScreen
from ctxtui.views.lists import forks
from ctxtui.views.lists.forks import ForkRow
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.text.table import Table


class ForksScreen(ListScreen[ForkRow, ForkRow]):
    """Lists what `make` gives; closes with the row that was chosen."""

    heading, none = "forks", "Nothing is recorded."

    def __init__(self, make: Callable[[], Sequence[ForkRow]]) -> None:
        self._make = make
        super().__init__()

    def load(self) -> Sequence[ForkRow]:
        """Look through the database."""
        return self._make()

    def begins_at(self, rows: Sequence[ForkRow]) -> int:
        """On the session that is open."""
        return next((n for n, row in enumerate(rows) if row.here), 0)

    def table(self, rows: Sequence[ForkRow]) -> Table[ForkRow]:
        """The tree."""
        return forks.TABLE

    def told(self, rows: Sequence[ForkRow]) -> Spans:
        """How the first one is made."""
        words = [Span("none yet: ", "dim"), Span("f", "accent bold"), Span(" talks from a call", "dim")]
        return words if len(rows) == 1 else ()

    def noted(self, rows: Sequence[ForkRow]) -> Spans:
        """How many there are."""
        return forks.notes(rows)

    def choose(self, row: ForkRow) -> ForkRow:
        """This one."""
        return row
