"""What staged edits break: literals that later blocks quote, and literals that a summary lost; one key keeps one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ctxtui.curation.price.dependence import Lost, Quote
from ctxtui.tui.commands import Act, Command
from ctxtui.tui.lists.list_screen import ListScreen
from ctxtui.views.lists import faults
from ctxtui.views.text.table import Table


class Keep(Command):
    """Have the summary say this literal, word for word."""

    name, keys, label, group = "keep literal in the summary", ("enter",), "keep", "what it breaks"
    run = Act(lambda: BreaksScreen, lambda screen: screen.take())


class BreaksScreen(ListScreen[Quote | Lost, str]):
    """Shows `quotes` and `lost`; closes with the literal that the summary is to keep."""

    commands: ClassVar[tuple[type[Command], ...]] = (Keep,)
    heading, at_once, inset = "what it breaks", True, 0
    none = " Nothing that goes is quoted later, and no summary lost a literal."

    def __init__(self, quotes: Sequence[Quote], lost: Sequence[Lost]) -> None:
        self._found: list[Quote | Lost] = [*lost, *quotes]
        super().__init__()

    def load(self) -> Sequence[Quote | Lost]:
        """They are known."""
        return self._found

    def table(self, rows: Sequence[Quote | Lost]) -> Table[Quote | Lost]:
        """The literal, and who needs it."""
        return faults.BROKEN_TABLE

    def choose(self, row: Quote | Lost) -> str:
        """The literal."""
        return row.literal
