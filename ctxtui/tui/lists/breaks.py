"""Literals that staged edits break: quoted by later blocks, or lost by a summary.

``enter`` keeps one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ctxtui.curation.price.dependence import Lost, Quote
from ctxtui.tui.commands import Act, Command
from ctxtui.tui.lists.list_screen import ListScreen
from ctxtui.views.lists import faults
from ctxtui.views.text.table import Table


class Keep(Command):
    """Put this literal into the summary, word for word."""

    name, keys, label, group = "keep literal in the summary", ("enter",), "keep", "what it breaks"
    run = Act(lambda: BreaksScreen, lambda screen: screen.accept())


class BreaksScreen(ListScreen[Quote | Lost, str]):
    """Shows `quotes` and `lost`; closes with the literal that the summary is to keep."""

    commands: ClassVar[tuple[type[Command], ...]] = (Keep,)
    heading, loads_at_once, inset = "what it breaks", True, 0
    empty_text = " Later blocks quote nothing of the dropped text, and no summary lost a literal."

    def __init__(self, quotes: Sequence[Quote], lost: Sequence[Lost]) -> None:
        self._rows: list[Quote | Lost] = [*lost, *quotes]
        super().__init__()

    def load(self) -> Sequence[Quote | Lost]:
        return self._rows

    def table(self, rows: Sequence[Quote | Lost]) -> Table[Quote | Lost]:
        """Return the table of literals and the blocks that need them."""
        return faults.BROKEN_TABLE

    def choose(self, row: Quote | Lost) -> str:
        return row.literal
