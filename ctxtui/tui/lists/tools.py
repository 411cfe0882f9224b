"""The tools of the context shown, by server: what each takes, whether it is loaded, how often it was called."""

from __future__ import annotations

from textual.message import Message

from ctxtui.tui.lists.list_screen import ListScreen, overlay_bindings
from ctxtui.tui.widgets.table_pane import TablePane
from ctxtui.views.inspector import toolset
from ctxtui.views.model.scene import Scene
from ctxtui.views.text.span import Span, Spans


class ToolsScreen(ListScreen[None]):
    """Shows the tools of `scene`; the calls of a long thread are counted in a worker."""

    BINDINGS = overlay_bindings(())

    class Counted(Message):
        """All is known."""

        def __init__(self, what: toolset.Toolset) -> None:
            super().__init__()
            self.what = what

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._most = 0
        self.pane: TablePane[toolset.ListRow] = TablePane("tools", self._draw, "No tools in this context.")
        self.pane.told = [Span(f"calls up to {scene.number:,}", "dim")]
        super().__init__(self.pane)

    def _draw(self, row: toolset.ListRow, room: int, here: bool) -> Spans:
        source = self._scene.session.about.source
        return toolset.draw(row, self._most, room - 1, source=source, here=here)

    def on_mount(self) -> None:
        """Count."""
        work = self._scene
        self.run_worker(lambda: self.post_message(self.Counted(toolset.in_thread(work))), thread=True)

    def on_tools_screen_counted(self, message: Counted) -> None:
        """Show it."""
        what = message.what
        self._most = max((tool.tokens or 0 for server in what.servers for tool in server.tools), default=0)
        self.pane.noted = toolset.notes(what)
        self.pane.show(toolset.rows(what.servers), cursor=0)
