"""Literals that staged edits break: quoted by later blocks, or lost by a summary.

A literal is a path, an id, a number or an error line in a removed block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from ctxtui.core.edit import Edit
from ctxtui.curation.price.dependence import Lost, Quote
from ctxtui.tui.commands import Act, Command
from ctxtui.tui.lists.list_screen import ListScreen
from ctxtui.views.lists import faults
from ctxtui.views.text.span import Span
from ctxtui.views.text.table import Table


class Keep(Command):
    """Add this literal, word for word, to the summary that lost it."""

    name, keys, label, group = "keep literal in the summary", ("enter",), "keep", "what it breaks"
    run = Act(lambda: BreaksScreen, lambda screen: screen.accept())


class BreaksScreen(ListScreen[Quote | Lost, Edit]):
    """Shows `quotes` and `lost`.

    Closes with the edit that `keep` makes of a literal, None if no summary lost it.
    """

    commands: ClassVar[tuple[type[Command], ...]] = (Keep,)
    heading, loads_at_once, inset = "what it breaks", True, 0

    def __init__(self, quotes: Sequence[Quote], lost: Sequence[Lost], keep: Callable[[str], Edit | None]) -> None:
        self._rows: list[Quote | Lost] = [*lost, *quotes]
        self._keep = keep
        super().__init__()

    def load(self) -> Sequence[Quote | Lost]:
        return self._rows

    def table(self, rows: Sequence[Quote | Lost]) -> Table[Quote | Lost]:
        return faults.BROKEN_TABLE

    def choose(self, row: Quote | Lost) -> Edit | None:
        edit = self._keep(row.literal)
        if edit is None:
            self.show_message([Span("No summary removed this; esc, then E lists the edit to take back.", "dim")])
        return edit
