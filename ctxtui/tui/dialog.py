"""The base of every screen that opens over another one: it closes once, whatever a burst of keys sends to it."""

from __future__ import annotations

from typing import ClassVar

from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen, ScreenResultType


class Dialog(ModalScreen[ScreenResultType]):
    """A screen over another one, closed by `esc` before any of its widgets sees that key."""

    # With priority: the next key of the same burst goes to the screen that is on top then.
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", show=False, priority=True)]

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        """Close with `result`. Textual closes the screen on top, whichever that is: here only this one, and once."""
        return super().dismiss(result) if self.is_current else AwaitComplete()
