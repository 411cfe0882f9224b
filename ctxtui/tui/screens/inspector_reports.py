"""The Inspector's way to what is said of the whole session: the bill, and what the cache missed."""

from __future__ import annotations

from ctxtui.tui.screens.inspector_desk import Desk


class Reporting(Desk):
    """The part of the Inspector that opens reports; Enter in one goes to a call that it names."""

    def action_bill(self) -> None:
        """The bill of the whole session."""
        # Imported here, as below: most sessions are looked at without adding up.
        from ctxtui.tui.screens.bill import BillScreen

        loaded = self.loaded
        if loaded is not None and self.complete:
            self.app.push_screen(BillScreen(lambda: self.source.statement(loaded)), self._go_to)

    def action_misses(self) -> None:
        """Every miss of the session."""
        from ctxtui.tui.screens.misses import MissesScreen

        loaded = self.loaded
        if loaded is not None and self.complete:
            self.app.push_screen(MissesScreen(lambda: self.source.misses(loaded)), self._go_to)

    def _go_to(self, call: tuple[str, int] | None) -> None:
        """Show a call, by thread and number; None where none was chosen."""
        if call is not None:
            if call[0] != self.thread:
                self.to_thread(call[0])
            self.go(call[1] - 1)

    def to_thread(self, thread: str) -> None:
        """Show a thread."""
        raise NotImplementedError

    def go(self, index: int, *, to_end: bool = False) -> None:
        """Show call `index` (from 0) of the thread."""
        raise NotImplementedError
