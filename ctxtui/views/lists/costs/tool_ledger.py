"""The ledger of tools over all sessions: servers and their tools, what they took, and what to do with them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from ctxtui.analysis.content.tools import UNKNOWN
from ctxtui.analysis.money.tool_ledger import DEFER, DROP, KEEP, LedgerServer, LedgerTool
from ctxtui.views.inspector.toolset import STATE
from ctxtui.views.text import numbers, safe_text, sums
from ctxtui.views.text.span import Span
from ctxtui.views.text.table import Column, Table

LedgerRow = LedgerServer | LedgerTool

_STYLE: Final = {KEEP: "dim", DEFER: "warn", DROP: "crit", UNKNOWN: "faint"}


def server_words(server: LedgerServer) -> str:
    """A server's name in a list over all clients, some of which name none, or group their own tools."""
    own = safe_text.one_line(server.name, 60)
    return f"mcp {own}" if server.mcp else own or "built-in, or no server named"


def rows(servers: Iterable[LedgerServer], *, tools: bool = True) -> list[LedgerRow]:
    """Each server, and its `tools` under it."""
    found: list[LedgerRow] = []
    for server in servers:
        found += [server, *(server.tools if tools else ())]
    return found


def table(now: float, *, mark: int = 1, flat: bool = False) -> Table[LedgerRow]:
    """The table; `now` is Unix time, for ages. Where it is `flat`, a tool does not stand below its server."""

    def age(row: LedgerRow, room: int) -> Span:
        return Span(numbers.ago(now - row.last_used) if row.last_used else numbers.NONE, "dim")

    return Table(
        (
            Column("server, tool", 0, _alone if flat else _name, "left", least=16),
            Column("schema", 7, _tokens, gap=1, sum=sum_of_tokens, sort=lambda row: row.tokens or 0),
            Column("state", 12, _state, "left", gap=2, from_width=144),
            Column("sent in", 8, _carried, gap=2, sum=sum_of_carried, sort=lambda row: row.carried or 0),
            Column("cost", 8, _cost, gap=1, sum=sum_of_cost, sort=lambda row: row.schema_usd or 0.0),
            Column("called", 7, _called, gap=1, sum=sum_of_called, sort=lambda row: row.called),
            Column("results", 8, _results, gap=1, sum=sum_of_results, from_width=88, sort=lambda row: row.results),
            Column("used", 5, age, gap=1, sort=lambda row: row.last_used),
            Column("verdict", 8, _verdict, "left", gap=2),
            Column("why", 30, _why, "left", gap=1, from_width=118, wider=((134, 44), (160, 60))),
        ),
        mark=mark,
    )


def _name(row: LedgerRow, room: int) -> list[Span]:
    if isinstance(row, LedgerServer):
        many = f"{len(row.tools):,} tool{'s' if len(row.tools) != 1 else ''}"
        return [Span("ƒ ", "cat-tools"), Span(server_words(row), "cat-tools bold"), Span(f"  {many}", "dim")]
    words = safe_text.one_line(row.name, 200) or "(all tools of the server; not listed in the request)"
    return [Span("    "), Span(words, "ink" if row.called else "dim")]


def _alone(row: LedgerRow, room: int) -> list[Span]:
    server = safe_text.one_line(row.server, 60) if isinstance(row, LedgerTool) else ""
    return [*_name(row, room)[1:], Span(f"  {server}", "dim")]


def _bold(row: LedgerRow, style: str = "ink") -> str:
    return f"{style} bold" if isinstance(row, LedgerServer) else style


def _tokens(row: LedgerRow, room: int) -> Span:
    return Span("?", "faint") if row.tokens is None else Span(numbers.tokens(row.tokens), _bold(row))


def _state(row: LedgerRow, room: int) -> Span:
    return Span("" if isinstance(row, LedgerServer) else STATE[row.state], "dim")


def _carried(row: LedgerRow, room: int) -> Span:
    return Span("?", "faint") if row.carried is None else Span(f"{row.carried:,}")


def _cost(row: LedgerRow, room: int) -> Span:
    if row.schema_usd is None:
        return Span("?", "faint")
    return Span(numbers.least(row.schema_usd, row.unpriced > 0), _bold(row))


def _called(row: LedgerRow, room: int) -> Span:
    return Span(f"{row.called:,}", "ink" if row.called else "warn")


def _results(row: LedgerRow, room: int) -> Span:
    return Span(numbers.tokens(row.results) if row.results else numbers.NONE, "ink" if row.results else "faint")


def _verdict(row: LedgerRow, room: int) -> Span:
    return Span(row.verdict, _STYLE[row.verdict])


def _why(row: LedgerRow, room: int) -> Span:
    return Span(safe_text.one_line(row.reason, 200), "dim")


_UNKNOWN: Final = "No recording holds its definition."


def sum_of_tokens(row: LedgerRow) -> str:
    """A server's definitions as those of its tools."""
    if row.tokens is None:
        return _UNKNOWN
    if isinstance(row, LedgerServer):
        return sums.added(row.tokens, "tokens", [tool.tokens for tool in row.tools if tool.tokens], "tools")
    return f"{row.tokens:,} tokens in the newest session that records it, of {row.sessions - row.unrecorded:,} that do."


def sum_of_carried(row: LedgerRow) -> str:
    """In how many calls a definition was sent."""
    if row.carried is None:
        return _UNKNOWN
    if isinstance(row, LedgerServer):
        return f"{row.carried:,} calls: those of the tool that was sent most often."
    return f"{row.carried:,} calls of {row.sessions - row.unrecorded:,} sessions that record it, each call once."


def sum_of_cost(row: LedgerRow) -> str:
    """A server's money as that of its tools."""
    if row.schema_usd is None:
        return _UNKNOWN
    least = f" {row.unpriced:,} calls have no price." if row.unpriced else ""
    if isinstance(row, LedgerServer):
        return sums.added_money(row.schema_usd, [tool.schema_usd for tool in row.tools], "tools") + least
    return f"{sums.usd(row.schema_usd)} for {row.carried or 0:,} calls, as the bill shares them out.{least}"


def sum_of_called(row: LedgerRow) -> str:
    """A server's calls as those of its tools."""
    if isinstance(row, LedgerServer):
        return sums.added(row.called, "calls", [tool.called for tool in row.tools if tool.called], "tools")
    return f"{row.called:,} times in {row.used_in:,} of {row.sessions:,} sessions."


def sum_of_results(row: LedgerRow) -> str:
    """A server's results as those of its tools."""
    if isinstance(row, LedgerServer):
        return sums.added(row.results, "tokens", [tool.results for tool in row.tools if tool.results], "tools")
    return f"{row.results:,} tokens for {row.called:,} calls."


def told(sessions: int, unrecorded: int) -> list[Span]:
    """Of how many sessions it is made, `unrecorded` of them without any definition."""
    many = f"{sessions:,} session{'s' if sessions != 1 else ''}"
    return [Span(f"{many}, {unrecorded:,} without definitions on record" if unrecorded else many, "dim")]


def of_mcp(servers: Sequence[LedgerServer]) -> list[LedgerServer]:
    """Those that are MCP servers."""
    return [one for one in servers if one.mcp]
