"""Lines of a recording that could not be read, with reasons."""

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
    """The skipped lines."""

    heading, empty_text, has_key_line, loads_at_once, inset = "skipped", "Every line was read.", False, True, 0

    @classmethod
    def ready(cls, host: InspectorState) -> bool:
        return host.loaded is not None

    def load(self) -> Sequence[Skipped]:
        return self.host.loaded.skipped if self.host.loaded is not None else ()

    def table(self, rows: Sequence[Skipped]) -> Table[Skipped]:
        return faults.SKIPPED_TABLE

    def rule_notes(self, rows: Sequence[Skipped]) -> Spans:
        return _LEAVE
