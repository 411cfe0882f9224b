"""The phases of the thread: how its context grew in each. Enter goes to a phase's first call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Final

from ctxtui.analysis.growth.phases import Phase
from ctxtui.tui.commands import Act, Command
from ctxtui.tui.lists.list_screen import ListScreen
from ctxtui.views.lists import phases
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.text.sums import ROW
from ctxtui.views.text.table import Table

NAME: Final = 0
"""What the screen closes with when the call shown is to begin a phase with a name of its own."""


class NamePhaseHere(Command):
    """Give a name to the phase that begins with the call shown: it is kept as a note on that call, ``phase: name``."""

    name, keys, label, short, group = "name a phase here", ("a",), "name a phase here", "name", "phases"
    run = Act(lambda: PhasesScreen, lambda screen: screen.dismiss(NAME))


class PhasesScreen(ListScreen[Phase, int]):
    """The phases as `make` works them out, until all are priced; `number` is the call shown. Closes with the number of
    a call, or `NAME`."""

    commands: ClassVar[tuple[type[Command], ...]] = (NamePhaseHere,)
    heading, none = "phases", "No call is recorded."

    def __init__(self, make: Callable[[], Sequence[Phase]], number: int) -> None:
        self._make, self._number = make, number
        super().__init__()

    def load(self) -> Sequence[Phase]:
        """By the rule that is set. Raises `BadPattern`."""
        return self._make()

    def settled(self, rows: Sequence[Phase]) -> bool:
        """Costs come as they are worked out."""
        return all(row.priced for row in rows)

    def begins_at(self, rows: Sequence[Phase]) -> int:
        """On the phase of the call shown."""
        return next((i for i, row in enumerate(rows) if row.last >= self._number), 0)

    def table(self, rows: Sequence[Phase]) -> Table[Phase]:
        """Growth, tokens and cost of each."""
        return phases.table(rows, self._number)

    def noted(self, rows: Sequence[Phase]) -> Spans:
        """What a phase adds."""
        return phases.summary(rows)

    def sums_of_rule(self) -> Mapping[str, str]:
        """What a phase typically adds, and what all sent."""
        return {ROW: phases.sum_of_summary(self.rows)}

    def fail(self, trouble: str) -> None:
        """The rule is no expression."""
        self.pane.told = [Span("✗ ", "crit"), Span(f"setting phases: {trouble}", "crit")]
        self.pane.show((), self.table(()), cursor=0)

    def choose(self, row: Phase) -> int:
        """Its first call."""
        return row.first
