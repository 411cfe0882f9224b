"""MCP tools of all sessions by server, or all tools: tokens, calls, and advice for each."""

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
    """List all tools, or only tools of MCP servers."""

    name, keys, label, group = "only MCP tools, or all tools", ("tab",), "all tools", "lists"
    run = Act(lambda: LedgerScreen, lambda screen: screen.toggle_all())


class LedgerScreen(ListScreen[LedgerRow, None]):
    """The ledger that `source` computes, updated while sessions are still being read."""

    commands = (OrderRows, EveryTool)
    heading, empty_text, reload_seconds = (
        "tools of all sessions",
        "No session has a tool of an MCP server; tab lists all tools.",
        2.0,
    )
    loading_text: ClassVar[Spans] = (Span("reading all sessions …", "dim"),)

    def __init__(self, source: Worker[LedgerMaker]) -> None:
        self._source = source
        self._last: LedgerSoFar | None = None
        self._shows_all = False
        super().__init__()

    def load(self) -> Sequence[LedgerRow]:
        """Return the rows of all sessions read so far."""
        self._last = self._source.attempt(LedgerMaker.make) or self._last
        return self._visible_rows()

    def _visible_rows(self) -> list[LedgerRow]:
        servers = self._last.ledger.servers if self._last is not None else []
        return view.rows(servers if self._shows_all else view.mcp_servers(servers))

    def is_final(self, rows: Sequence[LedgerRow]) -> bool:
        """Whether every session is read, or the worker ended before its first result."""
        return self._last is None or not self._last.left

    def table(self, rows: Sequence[LedgerRow]) -> Table[LedgerRow]:
        return view.table(time.time(), flat=bool(self.order))

    def in_order(self, rows: Sequence[LedgerRow], table: Table[LedgerRow]) -> Sequence[LedgerRow]:
        """Return the rows in order; only tools if they are not grouped by server."""
        return super().in_order([row for row in rows if isinstance(row, LedgerTool)] if self.order else rows, table)

    def title_suffix(self, rows: Sequence[LedgerRow]) -> Spans:
        return (
            view.coverage_note(self._last.ledger.sessions, self._last.ledger.unrecorded)
            if self._last is not None
            else ()
        )

    def rule_notes(self, rows: Sequence[LedgerRow]) -> Spans:
        left = self._last.left if self._last is not None else 0
        return [Span(f"{left:,} not read yet", "warn")] if left else ()

    def toggle_all(self) -> None:
        self._shows_all = not self._shows_all
        self.rows = self._visible_rows()
        self.draw_rows(0)

    def on_unmount(self) -> None:
        self._source.close()
