"""The tree of forks: Enter opens a session, or goes to the call where a branch begins."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ctxtui.tui.lists.list_screen import ListScreen
from ctxtui.views.lists import forks
from ctxtui.views.lists.forks import ForkRow
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.text.table import Table


class ForksScreen(ListScreen[ForkRow, ForkRow]):
    """Lists the rows that `make` returns; closes with the chosen row."""

    heading, empty_text = "forks", "Nothing is recorded."

    def __init__(self, make: Callable[[], Sequence[ForkRow]]) -> None:
        self._make = make
        super().__init__()

    def load(self) -> Sequence[ForkRow]:
        return self._make()

    def first_cursor(self, rows: Sequence[ForkRow]) -> int:
        return next((n for n, row in enumerate(rows) if row.is_open), 0)

    def table(self, rows: Sequence[ForkRow]) -> Table[ForkRow]:
        return forks.TABLE

    def title_suffix(self, rows: Sequence[ForkRow]) -> Spans:
        """Return a hint how to make the first fork, if there is none yet."""
        hint = [Span("none yet: ", "dim"), Span("f", "accent bold"), Span(" starts a chat from a call", "dim")]
        return hint if len(rows) == 1 else ()

    def rule_notes(self, rows: Sequence[ForkRow]) -> Spans:
        return forks.notes(rows)

    def choose(self, row: ForkRow) -> ForkRow:
        return row
