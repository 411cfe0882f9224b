"""The Inspector's way to what the cache missed."""

from __future__ import annotations

from ctxtui.tui.screens.inspector_desk import Desk


class Missing(Desk):
    """The part of the Inspector that shows why the cache missed."""

    def action_misses(self) -> None:
        """Every miss of the session; Enter goes to its call."""
        # Imported here: most sessions are looked at without asking.
        from ctxtui.tui.screens.misses import MissesScreen

        loaded = self.loaded
        if loaded is None or not self.complete:
            return

        def show(call: tuple[str, int] | None) -> None:
            if call is not None:
                if call[0] != self.thread:
                    self.to_thread(call[0])
                self.go(call[1] - 1)

        self.app.push_screen(MissesScreen(lambda: self.source.misses(loaded)), show)

    def to_thread(self, thread: str) -> None:
        """Show a thread."""
        raise NotImplementedError

    def go(self, index: int, *, to_end: bool = False) -> None:
        """Show call `index` (from 0) of the thread."""
        raise NotImplementedError
