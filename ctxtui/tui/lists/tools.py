"""The tools of the context shown, by server: what each takes, whether it is loaded, how often it was called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ctxtui.analysis.content.tools import ToolServer, totals
from ctxtui.tui.lists.list_screen import HostedList, ListHost
from ctxtui.views.inspector import toolset
from ctxtui.views.inspector.toolset import ListRow, Toolset
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.text.sums import ROW
from ctxtui.views.text.table import Table


class ToolsScreen(HostedList[ListRow, None]):
    """The tools of the scene, with the calls of the thread so far."""

    heading, none = "tools", "No tools in this context."

    @classmethod
    def ready(cls, host: ListHost) -> bool:
        """Once a call is shown."""
        return host.scene is not None

    def load(self) -> Sequence[ListRow]:
        """The calls of a long thread take their time."""
        return toolset.rows(toolset.in_thread(self.scene).servers) if self.scene is not None else ()

    def table(self, rows: Sequence[ListRow]) -> Table[ListRow]:
        """Each server, then its tools."""
        return toolset.table(rows, self.scene.session.about.source if self.scene is not None else "")

    def told(self, rows: Sequence[ListRow]) -> Spans:
        """Up to which call."""
        return [Span(f"calls up to {self.scene.number:,}", "dim")] if self.scene is not None else ()

    def sums_of_rule(self) -> Mapping[str, str]:
        """How many were never called."""
        servers = [row for row in self.rows if isinstance(row, ToolServer)]
        defined, unused = totals(servers)
        return {ROW: f"{defined:,} definitions in {len(servers):,} groups; {unused:,} of them were never called."}

    def noted(self, rows: Sequence[ListRow]) -> Spans:
        """How many were never called."""
        servers = tuple(row for row in rows if isinstance(row, ToolServer))
        return toolset.notes(Toolset(servers, *totals(servers)))
