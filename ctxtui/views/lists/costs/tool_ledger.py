"""The tool ledger over all sessions: what each tool costs, and whether to keep it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from ctxtui.analysis.content.tools import UNKNOWN
from ctxtui.analysis.money.tool_ledger import DEFER, DROP, KEEP, LedgerServer, LedgerTool
from ctxtui.views.inspector.toolset import STATE_LABELS
from ctxtui.views.text import numbers, safe_text, sums
from ctxtui.views.text.span import Span
from ctxtui.views.text.table import Column, Table

LedgerRow = LedgerServer | LedgerTool

_STYLE: Final = {KEEP: "dim", DEFER: "warn", DROP: "crit", UNKNOWN: "faint"}


def _server_label(server: LedgerServer) -> str:
    name = safe_text.one_line(server.name, 60)
    return f"mcp {name}" if server.mcp else name or "built-in, or no server named"


def rows(servers: Iterable[LedgerServer], *, tools: bool = True) -> list[LedgerRow]:
    ledger_rows: list[LedgerRow] = []
    for server in servers:
        ledger_rows += [server, *(server.tools if tools else ())]
    return ledger_rows


def table(now: float, *, mark: int = 1, flat: bool = False) -> Table[LedgerRow]:
    """The table of the tool ledger at Unix time `now`.

    If `flat`, tools are not listed below their server.
    """

    def age(row: LedgerRow, room: int) -> Span:
        return Span(numbers.ago(now - row.last_used) if row.last_used else numbers.NONE, "dim")

    return Table(
        (
            Column("server, tool", 0, _flat_name if flat else _name, "left", least=16),
            Column("schema", 7, _tokens, gap=1, sum=explain_tokens, sort=lambda row: row.tokens or 0),
            Column("state", 12, _state, "left", gap=2, from_width=144),
            Column("sent in", 8, _carried, gap=2, sum=_explain_carried, sort=lambda row: row.carried or 0),
            Column("cost", 8, _cost, gap=1, sum=_explain_cost, sort=lambda row: row.schema_usd or 0.0),
            Column("called", 7, _called, gap=1, sum=_explain_called, sort=lambda row: row.called),
            Column("results", 8, _results, gap=1, sum=_explain_results, from_width=88, sort=lambda row: row.results),
            Column("used", 5, age, gap=1, sort=lambda row: row.last_used),
            Column("verdict", 8, lambda row, _: Span(row.verdict, _STYLE[row.verdict]), "left", gap=2),
            Column("why", 30, _why, "left", gap=1, from_width=118, wider=((134, 44), (160, 60))),
        ),
        mark=mark,
    )


def _name(row: LedgerRow, room: int) -> list[Span]:
    if isinstance(row, LedgerServer):
        tool_count = numbers.many(len(row.tools), "tool")
        return [Span("ƒ ", "cat-tools"), Span(_server_label(row), "cat-tools bold"), Span(f"  {tool_count}", "dim")]
    words = safe_text.one_line(row.name, 200) or "(all tools of the server; not listed in the request)"
    return [Span("    "), Span(words, "ink" if row.called else "dim")]


def _flat_name(row: LedgerRow, room: int) -> list[Span]:
    server = safe_text.one_line(row.server, 60) if isinstance(row, LedgerTool) else ""
    return [*_name(row, room)[1:], Span(f"  {server}", "dim")]


def _ink(row: LedgerRow) -> str:
    return "ink bold" if isinstance(row, LedgerServer) else "ink"


def _tokens(row: LedgerRow, room: int) -> Span:
    return Span("?", "faint") if row.tokens is None else Span(numbers.tokens(row.tokens), _ink(row))


def _state(row: LedgerRow, room: int) -> Span:
    return Span("" if isinstance(row, LedgerServer) else STATE_LABELS[row.state], "dim")


def _carried(row: LedgerRow, room: int) -> Span:
    return Span("?", "faint") if row.carried is None else Span(f"{row.carried:,}")


def _cost(row: LedgerRow, room: int) -> Span:
    if row.schema_usd is None:
        return Span("?", "faint")
    return Span(numbers.least(row.schema_usd, row.unpriced > 0), _ink(row))


def _called(row: LedgerRow, room: int) -> Span:
    return Span(f"{row.called:,}", "ink" if row.called else "warn")


def _results(row: LedgerRow, room: int) -> Span:
    return Span(numbers.tokens(row.results) if row.results else numbers.NONE, "ink" if row.results else "faint")


def _why(row: LedgerRow, room: int) -> Span:
    return Span(safe_text.one_line(row.reason, 200), "dim")


_UNKNOWN: Final = "No recording contains its definition."


def explain_tokens(row: LedgerRow) -> str:
    if row.tokens is None:
        return _UNKNOWN
    if isinstance(row, LedgerServer):
        return sums.addition(row.tokens, "tokens", [tool.tokens for tool in row.tools if tool.tokens], "tools")
    return f"{row.tokens:,} tokens in the newest of the {row.sessions - row.unrecorded:,} sessions that record it."


def _explain_carried(row: LedgerRow) -> str:
    if row.carried is None:
        return _UNKNOWN
    if isinstance(row, LedgerServer):
        return f"{numbers.many(row.carried, 'call')}: those of the tool that was sent most often."
    sessions = numbers.many(row.sessions - row.unrecorded, "session")
    return f"{numbers.many(row.carried, 'call')} of {sessions} with its definition, each call once."


def _explain_cost(row: LedgerRow) -> str:
    if row.schema_usd is None:
        return _UNKNOWN
    least = f" {numbers.many(row.unpriced, 'call')} without a price." if row.unpriced else ""
    if isinstance(row, LedgerServer):
        return sums.money_addition(row.schema_usd, [tool.schema_usd for tool in row.tools], "tools") + least
    return f"{sums.usd(row.schema_usd)} for {row.carried or 0:,} calls: its share of the bill.{least}"


def _explain_called(row: LedgerRow) -> str:
    if isinstance(row, LedgerServer):
        return sums.addition(row.called, "calls", [tool.called for tool in row.tools if tool.called], "tools")
    return f"{row.called:,} times in {row.used_in:,} of {row.sessions:,} sessions."


def _explain_results(row: LedgerRow) -> str:
    if isinstance(row, LedgerServer):
        return sums.addition(row.results, "tokens", [tool.results for tool in row.tools if tool.results], "tools")
    return f"{row.results:,} tokens for {numbers.many(row.called, 'call')}."


def coverage_note(sessions: int, unrecorded: int) -> list[Span]:
    """Number of sessions in the ledger; `unrecorded`: those without tool definitions."""
    session_count = numbers.many(sessions, "session")
    return [
        Span(f"{session_count}, {unrecorded:,} without recorded definitions" if unrecorded else session_count, "dim")
    ]


def mcp_servers(servers: Sequence[LedgerServer]) -> list[LedgerServer]:
    return [server for server in servers if server.mcp]
