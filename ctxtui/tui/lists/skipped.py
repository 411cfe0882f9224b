"""What of a recording could not be read: every line with its reason."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from ctxtui.core.session import Skipped
from ctxtui.tui.widgets.pane import Pane
from ctxtui.views.text import safe_text
from ctxtui.views.text.span import Span, Spans


class SkippedPane(Pane):
    """One row for each line that was skipped."""

    def __init__(self, skipped: Sequence[Skipped]) -> None:
        super().__init__(title="skipped", id="skipped")
        self._skipped = skipped

    @property
    def row_count(self) -> int:
        """How many lines were skipped."""
        return len(self._skipped)

    def render_row(self, index: int, line: int, width: int) -> Spans:
        """Its line and why."""
        one = self._skipped[index]
        mark = "▸" if index == self.cursor else " "
        reason = safe_text.one_line(one.reason, 400)
        return [Span(f"{mark} line {one.line:>8,}  ", "warn"), Span(reason, "ink")]

    def on_mount(self) -> None:
        """All rows are there from the start."""
        self.reload()

    def empty(self) -> Spans:
        """Nothing was skipped."""
        return [Span("Every line was read.", "dim")]

    def notes(self) -> Spans:
        """How to leave."""
        return [Span("esc", "accent bold"), Span(" close", "dim")]


class SkippedScreen(ModalScreen[None]):
    """The list over the session that it is about."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "dismiss", show=False)]
    DEFAULT_CSS = "SkippedScreen { background: $background; } SkippedScreen Pane { height: 1fr; }"

    def __init__(self, skipped: Sequence[Skipped]) -> None:
        super().__init__()
        self._skipped = skipped

    def compose(self) -> ComposeResult:
        """The list fills the screen."""
        yield SkippedPane(self._skipped)
