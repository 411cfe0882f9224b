"""The tools of all sessions, from the remembered figures of each; every call counted once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ctxtui.analysis.content.tools import UNKNOWN
from ctxtui.analysis.money.tool_ledger import LedgerServer, SessionTool, build_ledger
from ctxtui.views.model.call_owners import sessions_with_owned_calls
from ctxtui.views.model.session_summary import SessionSummary


class ToolsLedger(NamedTuple):
    """The `servers`, dearest definitions first; of how many `sessions` with tools, `unrecorded` of them without any
    definition."""

    servers: list[LedgerServer]
    sessions: int
    unrecorded: int


def tools_ledger(sessions: Iterable[SessionSummary], since: float = 0.0) -> ToolsLedger:
    """The ledger of sessions whose figures are known, of their calls from `since` (Unix seconds) on; a call without a
    time is as old as its session."""
    seen: list[SessionTool] = []
    count = unrecorded = 0
    for one, own in sessions_with_owned_calls(sessions):
        found = list(_seen(one, {call.id for call in own if (call.started or one.mtime) >= since}))
        seen += found
        count += bool(found)
        unrecorded += bool(found) and all(tool.costs.state == UNKNOWN for tool in found)
    return ToolsLedger(build_ledger(seen), count, unrecorded)


def _seen(one: SessionSummary, ids: set[str]) -> Iterator[SessionTool]:
    """The tools of a session in those of its calls whose `ids` count; its money by their share in it."""
    if not ids:
        return
    whole = sum(call.cost or 0.0 for call in one.spent if not call.copied)
    mine = sum(call.cost or 0.0 for call in one.spent if call.id in ids)
    for tool in one.tools:
        carried = [call for first, end in tool.carried for call in one.spent[first:end] if call.id in ids]
        called = [one.spent[number] for number in tool.called if one.spent[number].id in ids]
        if carried or called or (not tool.carried and not tool.called):
            last = max((call.started or one.mtime for call in called), default=0.0)
            unpriced = sum(call.unpriced for call in carried)
            yield SessionTool(
                costs=tool,
                carried=len(carried),
                called=len(called),
                last=last,
                share=mine / whole if whole else 0.0,
                unpriced=unpriced,
                at=one.mtime,
            )
