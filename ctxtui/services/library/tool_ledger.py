"""Tools of all sessions, from their cached figures; every call counted once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ctxtui.analysis.content.tools import UNKNOWN
from ctxtui.analysis.money.tool_ledger import LedgerServer, SessionTool, build_ledger
from ctxtui.views.model.call_owners import sessions_with_owned_calls
from ctxtui.views.model.session_summary import CallSpent, SessionSummary


class ToolsLedger(NamedTuple):
    """The tools of all sessions.

    - `servers`: those with the most expensive definitions first.
    - `sessions`: number of sessions with tools; `unrecorded`: those whose tool definitions are not recorded.
    """

    servers: list[LedgerServer]
    sessions: int
    unrecorded: int


def tools_ledger(sessions: Iterable[SessionSummary], since: float = 0.0) -> ToolsLedger:
    """Make the ledger of the calls of sessions with figures, from `since` (Unix seconds) on.

    A call without a time has that of its session.
    """
    tools: list[SessionTool] = []
    count = unrecorded = 0
    for summary, owned in sessions_with_owned_calls(sessions):
        own_tools = list(_tools_of(summary, [call for call in owned if (call.started or summary.mtime) >= since]))
        tools += own_tools
        count += bool(own_tools)
        unrecorded += bool(own_tools) and all(tool.costs.state == UNKNOWN for tool in own_tools)
    return ToolsLedger(build_ledger(tools), count, unrecorded)


def _tools_of(summary: SessionSummary, calls: list[CallSpent]) -> Iterator[SessionTool]:
    """The tools of a session in `calls` of it.

    `share` is the share of these calls in the session's cost.
    """
    if not calls:
        return
    total_usd = sum(call.cost or 0.0 for call in summary.spent if not call.copied)
    own_usd = sum(call.cost or 0.0 for call in calls)
    own = set(map(id, calls))
    for tool in summary.tools:
        carried = [call for first, end in tool.carried for call in summary.spent[first:end] if id(call) in own]
        called = [summary.spent[number] for number in tool.called if id(summary.spent[number]) in own]
        if carried or called or (not tool.carried and not tool.called):
            yield SessionTool(
                costs=tool,
                carried=len(carried),
                called=len(called),
                last=max((call.started or summary.mtime for call in called), default=0.0),
                share=own_usd / total_usd if total_usd else 0.0,
                unpriced=sum(call.unpriced for call in carried),
                at=summary.mtime,
            )
