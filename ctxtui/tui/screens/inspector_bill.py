"""The Inspector's way to the bill."""

from __future__ import annotations

from ctxtui.tui.screens.inspector_desk import Desk


class Billing(Desk):
    """The part of the Inspector that shows what the session cost."""

    def action_bill(self) -> None:
        """The bill of the whole session; Enter goes to a call that it names."""
        # Imported here: most sessions are looked at without adding up.
        from ctxtui.tui.screens.bill import BillScreen

        loaded = self.loaded
        if loaded is None or not self.complete:
            return

        def show(call: tuple[str, int] | None) -> None:
            if call is not None:
                if call[0] != self.thread:
                    self.to_thread(call[0])
                self.go(call[1] - 1)

        self.app.push_screen(BillScreen(lambda: self.source.statement(loaded)), show)

    def to_thread(self, thread: str) -> None:
        """Show a thread."""
        raise NotImplementedError

    def go(self, index: int, *, to_end: bool = False) -> None:
        """Show call `index` (from 0) of the thread."""
        raise NotImplementedError
