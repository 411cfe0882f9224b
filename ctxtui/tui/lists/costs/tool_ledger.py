"""The tools of all sessions by server: what they took, whether they were called, what to do with each."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import ClassVar

from ctxtui.analysis.money.tool_ledger import LedgerTool
from ctxtui.services.worker import Worker
from ctxtui.services.workers.totals_worker import LedgerMaker, LedgerSoFar
from ctxtui.tui.commands import Act, Command
from ctxtui.tui.lists.list_screen import ListScreen, OrderRows
from ctxtui.views.lists.costs import tool_ledger as view
from ctxtui.views.lists.costs.tool_ledger import LedgerRow
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.text.table import Table


class EveryTool(Command):
    """Tools that are built in, or name no MCP server, too; or MCP servers alone again."""

    name, keys, label, group = "tools of MCP servers, or all tools", ("tab",), "all tools", "lists"
    run = Act(lambda: LedgerScreen, lambda screen: screen.every_tool())


class LedgerScreen(ListScreen[LedgerRow, None]):
    """The ledger, which `source` makes. Sessions that are not read yet are taken in as they are."""

    commands = (OrderRows, EveryTool)
    heading, none, again = "tools of all sessions", "No session has a tool of an MCP server; t lists every tool.", 2.0
    working: ClassVar[Spans] = (Span("looking into every session …", "dim"),)

    def __init__(self, source: Worker[LedgerMaker]) -> None:
        self._source = source
        self._last: LedgerSoFar | None = None
        self._every = False
        super().__init__()

    def load(self) -> Sequence[LedgerRow]:
        """What is remembered of every session."""
        self._last = self._source.attempt(LedgerMaker.make) or self._last
        return self._listed()

    def _listed(self) -> list[LedgerRow]:
        servers = self._last.ledger.servers if self._last is not None else []
        return view.rows(servers if self._every else view.mcp_servers(servers))

    def settled(self, rows: Sequence[LedgerRow]) -> bool:
        """Once every session is read."""
        return self._last is None or not self._last.left

    def table(self, rows: Sequence[LedgerRow]) -> Table[LedgerRow]:
        """Each server, then its tools; in another order the tools alone."""
        return view.table(time.time(), flat=bool(self.order))

    def in_order(self, rows: Sequence[LedgerRow], table: Table[LedgerRow]) -> Sequence[LedgerRow]:
        """Tools alone, where they do not stand below their servers."""
        return super().in_order([row for row in rows if isinstance(row, LedgerTool)] if self.order else rows, table)

    def told(self, rows: Sequence[LedgerRow]) -> Spans:
        """Of how many sessions."""
        return (
            view.coverage_note(self._last.ledger.sessions, self._last.ledger.unrecorded)
            if self._last is not None
            else ()
        )

    def noted(self, rows: Sequence[LedgerRow]) -> Spans:
        """How many are not read yet."""
        left = self._last.left if self._last is not None else 0
        return [Span(f"{left:,} not read yet", "warn")] if left else ()

    def every_tool(self) -> None:
        """All tools, or those of MCP servers."""
        self._every = not self._every
        self.rows = self._listed()
        self.draw_rows(0)

    def on_unmount(self) -> None:
        """What makes it ends with the screen."""
        self._source.close()
