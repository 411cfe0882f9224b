"""The phases of the thread: how its context grew in each. Enter goes to a phase's first call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Final

from textual.message import Message

from ctxtui.analysis.growth.phases import Phase
from ctxtui.core.errors import CtxtuiError
from ctxtui.tui.commands import Command
from ctxtui.tui.lists.heaviest import PHASES
from ctxtui.tui.lists.list_screen import ListScreen, overlay_bindings
from ctxtui.tui.widgets.pane import Pane
from ctxtui.tui.widgets.table_pane import TablePane
from ctxtui.views.lists import phases
from ctxtui.views.text.span import Span, Spans

NAME: Final = 0
"""What the screen closes with when the call shown is to begin a phase with a name of its own."""

_EVERY: Final = 0.5
"""Seconds between looks at whether more is priced."""


class PhasesScreen(ListScreen[int | None]):
    """The phases as `make` works them out; `number` is the call shown. Closes with the number of a call, or `NAME`."""

    commands: ClassVar[tuple[type[Command], ...]] = PHASES
    BINDINGS = overlay_bindings(PHASES)

    class Made(Message):
        """The table is worked out, or an `error` says why not."""

        def __init__(self, rows: Sequence[Phase], error: CtxtuiError | None = None) -> None:
            super().__init__()
            self.rows = rows
            self.error = error

    def __init__(self, make: Callable[[], Sequence[Phase]], number: int) -> None:
        self._make = make
        self._most = 0

        def draw(row: Phase, room: int, here: bool) -> Spans:
            return phases.draw(row, self._most, room - 1, here=here, shown=row.first <= number <= row.last)

        self.pane: TablePane[Phase] = TablePane("phases", draw, "No call is recorded.")
        self.pane.heads = lambda room: phases.heads(room - 1)
        self._number = number
        super().__init__(self.pane)

    def on_mount(self) -> None:
        """Work the table out."""
        self._begin()

    def _begin(self) -> None:
        self.run_worker(lambda: self.post_message(self._made()), thread=True)

    def _made(self) -> Made:
        try:
            return self.Made(self._make())
        except CtxtuiError as error:
            return self.Made((), error)

    def on_phases_screen_made(self, message: Made) -> None:
        """Show it, the phase of the call shown under the cursor; again until all of it is priced."""
        rows, first = message.rows, self.pane.rows is None
        self._most = max((row.growth for row in rows), default=0)
        self.pane.noted = phases.summary(rows)
        if message.error is not None:
            self.pane.told = [Span("✗ ", "crit"), Span(f"setting phases: {message.error}", "crit")]
        at = next((i for i, row in enumerate(rows) if row.last >= self._number), 0)
        self.pane.show(rows, cursor=at if first else None)
        if not all(row.priced for row in rows):
            self.set_timer(_EVERY, self._begin)

    def on_pane_chosen(self, message: Pane.Chosen) -> None:
        """To its first call."""
        row = self.pane.row
        self.dismiss(row.first if row is not None else None)

    def action_name(self) -> None:
        """Ask for a name."""
        self.dismiss(NAME)
