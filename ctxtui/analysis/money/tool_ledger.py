"""Ledger of tools over many sessions: tokens, use, and whether to keep, defer or drop each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from ctxtui.analysis.content.tools import DEFERRED, FOUND, UNKNOWN
from ctxtui.analysis.money.tool_costs import ToolCosts

KEEP, DEFER, DROP = "keep", "defer", "drop"
"""Verdicts on a tool. To defer it: send its definition only once a search finds it."""
MIN_CALLS: Final = 10
"""Calls that must have carried a definition before a tool without calls is judged."""
MIN_SESSIONS: Final = 3
"""Sessions needed to drop a tool that none of them called, or to defer one that few of them called."""
MAX_SELDOM_SHARE: Final = 0.25
"""Share of sessions below which a tool is used so seldom that it can be deferred."""
MIN_RARE_RATIO: Final = 100
"""Calls that carried a definition for each call of the tool, from which on it can be deferred."""


class SessionTool(Struct, frozen=True, kw_only=True):
    """A tool in one session, by the calls that are counted.

    - `carried`, `called`: number of calls with its definition, and of uses.
    - `last`: the last use (Unix seconds; 0: never or not recorded).
    - `share`: the counted part of the session's cost.
    - `unpriced`: calls without a price that carried it.
    - `at`: the session's last change.
    """

    costs: ToolCosts
    carried: int
    called: int
    last: float
    share: float
    unpriced: int
    at: float


class LedgerTool(Struct, frozen=True, kw_only=True):
    """One tool over the sessions in which it occurred.

    - `tokens`, `state`: of its definition, from the newest session that records it (None, `UNKNOWN`: none does).
    - `sessions`, `used_in`, `unrecorded`: number of sessions that had it, that used it, and that lack its definition.
    - `carried`: calls that carried the definition (None: not recorded); `unpriced`: those of them without a price.
    - `called`: its calls; `results`: tokens of their results.
    - `schema_usd`, `use_usd`: as shared out by the bill.
    - `last_used`: Unix seconds (0: never, or not recorded).
    - `verdict`: `KEEP`, `DEFER`, `DROP` or `UNKNOWN`, with its `reason`.
    """

    server: str
    name: str
    tokens: int | None
    state: str
    sessions: int
    used_in: int
    unrecorded: int
    carried: int | None
    unpriced: int
    called: int
    results: int
    schema_usd: float | None
    use_usd: float
    last_used: float
    verdict: str
    reason: str


class LedgerServer(Struct, frozen=True, kw_only=True):
    """All tools of one server, the most expensive definition first.

    A `name` "" is unnamed. `mcp`: shown to be an MCP server. Figures are sums; `carried` and `unpriced` are maxima, as
    calls carry several tools, and `last_used` is the latest. The verdict is for the server as a whole.
    """

    name: str
    mcp: bool
    tools: tuple[LedgerTool, ...]
    tokens: int | None
    carried: int | None
    unpriced: int
    called: int
    results: int
    schema_usd: float | None
    use_usd: float
    last_used: float
    verdict: str
    reason: str


def build_ledger(session_tools: Iterable[SessionTool]) -> list[LedgerServer]:
    """Servers by cost of their definitions, then by number of calls."""
    by_tool: dict[tuple[str, str], list[SessionTool]] = {}
    for tool_ in session_tools:
        by_tool.setdefault((tool_.costs.server, tool_.costs.name), []).append(tool_)
    by_server: dict[str, list[LedgerTool]] = {}
    mcp = {server for (server, _), rows in by_tool.items() if any(tool_.costs.mcp for tool_ in rows)}
    for (server, name), rows in by_tool.items():
        by_server.setdefault(server, []).append(_make_tool(server, name, rows))
    servers = [_make_server(name, tools, mcp=name in mcp) for name, tools in by_server.items()]
    return sorted(servers, key=_rank_key)


def _rank_key(row: LedgerTool | LedgerServer) -> tuple[float, int, int, str]:
    return -(row.schema_usd or 0.0), -(row.tokens or 0), -row.called, row.name


def _make_tool(server: str, name: str, rows: list[SessionTool]) -> LedgerTool:
    recorded = [row for row in rows if row.costs.state != UNKNOWN]
    defined = [row for row in recorded if row.costs.tokens is not None]
    newest = max(recorded, key=lambda tool: tool.at, default=None)
    figured = max(defined, key=lambda tool: tool.at, default=None)
    called, carried = sum(row.called for row in rows), sum(row.carried for row in recorded)
    used_in = sum(row.called > 0 for row in rows)
    state = newest.costs.state if newest else UNKNOWN
    verdict, reason = judge_tool(state, len(rows), used_in, carried, called)
    return LedgerTool(
        server=server,
        name=name,
        tokens=figured.costs.tokens if figured else None,
        state=state,
        sessions=len(rows),
        used_in=used_in,
        unrecorded=len(rows) - len(recorded),
        carried=carried if recorded else None,
        unpriced=sum(row.unpriced for row in recorded),
        called=called,
        results=round(sum(_counted_share(row) * row.costs.results for row in rows)),
        schema_usd=sum(row.share * row.costs.schema_usd for row in recorded) if recorded else None,
        use_usd=sum(row.share * row.costs.use_usd for row in rows),
        last_used=max(row.last for row in rows),
        verdict=verdict,
        reason=reason,
    )


def _counted_share(tool: SessionTool) -> float:
    return tool.called / len(tool.costs.called) if tool.costs.called else tool.share


def judge_tool(state: str, sessions: int, used_in: int, carried: int, called: int) -> tuple[str, str]:
    """Verdict on a tool, and the reason; the arguments are those of `LedgerTool`."""
    often = f"called {_times_text(called)} in {used_in:,} of {_count_text(sessions, 'session')}"
    if state == UNKNOWN:
        return UNKNOWN, f"{often}; no recording contains its definition"
    if state in (DEFERRED, FOUND):
        seldom = "found, never called" if state == FOUND else "never searched for"
        return KEEP, f"deferred already; {often if called else seldom}"
    if not called and carried < MIN_CALLS:
        return KEEP, f"{_count_text(carried, 'call')} that carried it: too few to tell"
    if not called and sessions >= MIN_SESSIONS:
        return DROP, f"never called: carried by {_count_text(carried, 'call')} of {_count_text(sessions, 'session')}"
    if not called:
        return DEFER, f"not called yet: carried by {_count_text(carried, 'call')} of {_count_text(sessions, 'session')}"
    if sessions >= MIN_SESSIONS and used_in / sessions < MAX_SELDOM_SHARE:
        return DEFER, often
    if carried / called >= MIN_RARE_RATIO:
        return DEFER, f"called {_times_text(called)}, carried by {_count_text(carried, 'call')}"
    return KEEP, often


def _make_server(name: str, tools: list[LedgerTool], *, mcp: bool) -> LedgerServer:
    sizes = [tool.tokens for tool in tools if tool.tokens is not None]
    spent = [tool.schema_usd for tool in tools if tool.schema_usd is not None]
    verdict, reason = _judge_server(tools)
    return LedgerServer(
        name=name,
        mcp=mcp,
        tools=tuple(sorted(tools, key=_rank_key)),
        tokens=sum(sizes) if sizes else None,
        carried=max((tool.carried for tool in tools if tool.carried is not None), default=None),
        unpriced=max(tool.unpriced for tool in tools),
        called=sum(tool.called for tool in tools),
        results=sum(tool.results for tool in tools),
        schema_usd=sum(spent) if spent else None,
        use_usd=sum(tool.use_usd for tool in tools),
        last_used=max(tool.last_used for tool in tools),
        verdict=verdict,
        reason=reason,
    )


def _judge_server(tools: list[LedgerTool]) -> tuple[str, str]:
    """Verdict on a server, kept if one of its tools is, and the reason."""
    count = {verdict: sum(tool.verdict == verdict for tool in tools) for verdict in (KEEP, DEFER, DROP, UNKNOWN)}
    verdict = next(verdict for verdict, n in count.items() if n)
    if len(tools) == 1:
        return verdict, tools[0].reason
    if count[verdict] == len(tools):
        return verdict, f"all {len(tools):,} tools" if verdict != UNKNOWN else "no recording contains its definitions"
    return verdict, ", ".join(f"{verdict} {n:,}" for verdict, n in count.items() if n)


def _count_text(n: int, what: str) -> str:
    return f"{n:,} {what}{'s' if n != 1 else ''}"


def _times_text(n: int) -> str:
    return {0: "never", 1: "once", 2: "twice"}.get(n, f"{n:,} times")
