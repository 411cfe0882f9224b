"""What of a recording could not be read: every line with its reason."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ctxtui.core.session import Skipped
from ctxtui.tui.lists.list_screen import HostedList
from ctxtui.views.lists import faults
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.text.table import Table

if TYPE_CHECKING:
    from ctxtui.tui.inspector.state import InspectorState


_LEAVE: Final = (Span("esc", "accent bold"), Span(" close", "dim"))


class SkippedScreen(HostedList[Skipped, None]):
    """The lines that were skipped."""

    heading, none, foot, at_once, inset = "skipped", "Every line was read.", False, True, 0

    @classmethod
    def ready(cls, host: InspectorState) -> bool:
        """Once the recording is open."""
        return host.loaded is not None

    def load(self) -> Sequence[Skipped]:
        """They are known."""
        return self.host.loaded.skipped if self.host.loaded is not None else ()

    def table(self, rows: Sequence[Skipped]) -> Table[Skipped]:
        """Line and reason."""
        return faults.SKIPPED_TABLE

    def noted(self, rows: Sequence[Skipped]) -> Spans:
        """How to leave."""
        return _LEAVE
