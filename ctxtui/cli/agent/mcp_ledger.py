"""`ctxtui mcp` alone: the ledger of tools over all sessions."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from ctxtui.analysis.money.tool_ledger import LedgerServer, LedgerTool
from ctxtui.cli.all_sessions import known_sessions
from ctxtui.cli.output import members, note, write_json
from ctxtui.cli.paint import Painter, rule, width
from ctxtui.services.config.settings import Settings
from ctxtui.services.library.tool_ledger import ToolsLedger, tools_ledger
from ctxtui.views.home.columns import is_empty
from ctxtui.views.lists.costs import tool_ledger as view

SERVER, TOOL = "server", "tool"


def tell(settings: Settings, folder: Path | None, since: float | None, by: str, *, every: bool, as_json: bool) -> None:
    """Print the ledger of the sessions in `folder` (None: all of the user's), of calls not older than `since` seconds;
    one row for each of what `by` says, of tools without a server's name too where `every` is set."""
    now = time.time()
    known = known_sessions(settings, folder)
    found = tools_ledger(known, now - since if since is not None else 0.0)
    servers = found.servers if every else view.of_mcp(found.servers)
    failed = [one for one in known if one.error and not is_empty(one)]
    if as_json:
        write_json(
            {
                "sessions": found.sessions,
                "sessions_without_definitions": found.unrecorded,
                "since_seconds": since,
                "servers": [_server_fields(one, tools=by == TOOL) for one in servers],
                "failed": [{"file": one.path, "error": one.error} for one in failed],
            }
        )
    else:
        _print(Painter(settings.glyphs), found, servers, now, tools=by == TOOL)
    for one in failed:
        note(f"{one.path}: {one.error}")


def _print(painter: Painter, found: ToolsLedger, servers: list[LedgerServer], now: float, *, tools: bool) -> None:
    words = "".join(span.text for span in view.told(found.sessions, found.unrecorded))
    painter.lines(rule("tools", words))
    rows = view.rows(servers, tools=tools)
    table = view.table(now, mark=0)
    if rows:
        painter.line(table.heads(width()))
    else:
        note("no session has a tool of an MCP server; --all lists every tool")
    for row in rows:
        painter.line(table.draw(row, width()))


def _server_fields(one: LedgerServer, *, tools: bool) -> dict[str, Any]:
    own: dict[str, Any] = {"name": one.name or None, "mcp": one.mcp, "tool_count": len(one.tools), **_figures(one)}
    return {**own, "tools": [_tool_fields(tool) for tool in one.tools]} if tools else own


def _tool_fields(one: LedgerTool) -> dict[str, Any]:
    seen = members(one, "sessions used_in sessions_without_definition=unrecorded")
    return {"name": one.name or None, "state": one.state, **seen, **_figures(one)}


def _figures(one: LedgerServer | LedgerTool) -> dict[str, Any]:
    return members(
        one,
        "schema_tokens=tokens carried_calls=carried schema_usd unpriced_calls=unpriced called "
        "result_tokens=results use_usd last_used? verdict reason",
    )
