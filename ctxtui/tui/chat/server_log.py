"""The log of an MCP server: what it writes to standard error, followed while it is looked at."""

from __future__ import annotations

from collections.abc import Sequence

from ctxtui.core.errors import CtxtuiError
from ctxtui.services.external_editor import page
from ctxtui.services.mcp.connection import ServerConnection
from ctxtui.tui.commands import Act, Command
from ctxtui.tui.lists.list_screen import ListScreen
from ctxtui.views.text import safe_text
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.text.table import Column, Table

_LONGEST = 2_000


class PageLog(Command):
    """Read the log in $PAGER, its long lines whole."""

    name, keys, label, group = "log in pager", ("o",), "pager", "lists"
    run = Act(lambda: ServerLogScreen, lambda screen: screen.page())


class ServerLogScreen(ListScreen[str, None]):
    """What the server `one` has written. New lines are shown as they come; the cursor stays at the end where it is
    there, else where it is. `pager` is the user's setting."""

    commands = (PageLog,)
    heading, none, again = "server log", "It has written nothing to standard error.", 0.5

    def __init__(self, one: ServerConnection, pager: str) -> None:
        self._one = one
        self._pager = pager
        super().__init__()

    def load(self) -> Sequence[str]:
        """The lines so far."""
        return self._one.log_text().splitlines()

    def show(self, what: Sequence[str]) -> None:
        """Show these lines, and look again."""
        at_end = self.pane.row_count <= self.pane.cursor + 1
        grown = what != self.rows
        super().show(what)
        if grown and at_end and what:
            self.draw_rows(len(what) - 1)
        self.tell()

    def settled(self, rows: Sequence[str]) -> bool:
        """It may always write more."""
        return False

    def table(self, rows: Sequence[str]) -> Table[str]:
        """A line each."""
        return Table((Column("", 0, lambda line, _: Span(safe_text.one_line(line, _LONGEST), "ink"), "left"),))

    def told(self, rows: Sequence[str]) -> Spans:
        """Whose it is, and how that is doing."""
        name, state = safe_text.one_line(self._one.server.name, 40), self._one.state.value
        return [Span(f"{name} · {state}", "dim")]

    def page(self) -> None:
        """All of it in the pager."""
        try:
            with self.app.suspend():
                page(safe_text.lines(self._one.log_text()), self._pager)
        except CtxtuiError as error:
            self.said.say([Span(safe_text.one_line(str(error), 200), "crit")])
        finally:
            self.app.refresh()
