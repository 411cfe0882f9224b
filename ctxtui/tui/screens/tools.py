"""The tools of the context shown, by server: what each takes, whether it is loaded, how often it was called."""

from __future__ import annotations

from ctxtui.tui.screens.overlay import Overlay, overlay_bindings
from ctxtui.tui.widgets.table_pane import TablePane
from ctxtui.views import toolset
from ctxtui.views.span import Spans


class ToolsScreen(Overlay[None]):
    """Shows `what`."""

    BINDINGS = overlay_bindings(())

    def __init__(self, what: toolset.Toolset) -> None:
        self._what = what
        most = max((tool.tokens or 0 for server in what.servers for tool in server.tools), default=0)

        def draw(row: toolset.ListRow, room: int, here: bool) -> Spans:
            return toolset.draw(row, most, room - 1, here=here)

        self.pane: TablePane[toolset.ListRow] = TablePane("tools", draw, "No tools in this context.")
        super().__init__(self.pane)

    def on_mount(self) -> None:
        """All is known already."""
        self.pane.noted = toolset.notes(self._what)
        self.pane.show(toolset.rows(self._what.servers), cursor=0)
