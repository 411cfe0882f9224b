"""Base class of dialogs, which close exactly once, even during a burst of keys."""

from __future__ import annotations

from typing import ClassVar

from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen, ScreenResultType


class Dialog(ModalScreen[ScreenResultType]):
    """A modal screen that `esc` closes; if it binds that key itself, its widgets get it first."""

    # With priority: the next key of the same burst goes to the screen that is on top then.
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", show=False, priority=True)]

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        """Close this dialog, once, with `result`. Textual would close whichever screen is on top."""
        return super().dismiss(result) if self.is_current else AwaitComplete()
