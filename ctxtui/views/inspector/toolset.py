"""The tools of a context, built in and by MCP server: definition tokens, and unused ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

from ctxtui.analysis.content.tools import (
    DEFERRED,
    FOUND,
    LOADED,
    UNKNOWN,
    ToolFigures,
    ToolServer,
    ToolUse,
    count_definitions,
    count_tool_calls,
)
from ctxtui.core.tool_definitions import PREFIXING_CLIENTS
from ctxtui.views.model.scene import Scene
from ctxtui.views.text import bars, numbers, safe_text, sums
from ctxtui.views.text.span import Span
from ctxtui.views.text.table import Column, Table

STATE_LABELS: Final = {LOADED: "", DEFERRED: "deferred", FOUND: "found", UNKNOWN: "not recorded"}


class Toolset(Struct, frozen=True):
    """All servers with their tools, and the numbers of `defined` and never called tools."""

    servers: tuple[ToolServer, ...]
    defined: int
    unused: int
    source: str = ""


def toolset(scene: Scene, use: ToolUse) -> Toolset:
    """The tools of the context shown, by server, with the number of their calls in it.

    `use` reads the context; passing it again for a later context of the same session reads only what is new.
    """
    use.read_path(scene.head)
    servers = tuple(use.servers(scene.running.block_tokens if scene.counted else None))
    return Toolset(servers, *count_definitions(servers), scene.session.about.source)


def thread_toolset(scene: Scene) -> Toolset:
    """Like `toolset`, but with all calls of the thread up to the one shown."""
    tree, use = scene.session.tree, ToolUse(scene.session.tree)
    use.read_path(scene.head)
    calls = count_tool_calls(tree, scene.calls[: scene.number])
    servers = tuple(use.servers(scene.running.block_tokens if scene.counted else None, calls))
    return Toolset(servers, *count_definitions(servers), scene.session.about.source)


def notes(tools: Toolset) -> list[Span]:
    if not tools.defined:
        return [Span("definitions not recorded", "dim")] if tools.servers else []
    if not tools.unused:
        return [Span(f"all {tools.defined} called", "dim")]
    return [Span("never called ", "warn"), Span(f"{tools.unused} of {tools.defined}", "dim")]


def _server_label(name: str, source: str) -> str:
    """A server's name on screen: ``mcp github``.

    Without a name ``built-in`` if the client `source` puts servers into tool names, else ``no MCP server``.
    """
    if name:
        return f"mcp {safe_text.one_line(name, 60)}"
    return "built-in" if source in PREFIXING_CLIENTS else "no MCP server"


def lines(tools: Toolset, room: int) -> Iterable[list[Span]]:
    """A line for each server: tokens of its definitions, and number of calls."""
    if not tools.servers:
        yield [Span(" No tools in this context.", "dim")]
    most = max((server.tokens or 0 for server in tools.servers), default=0)

    def name(server: ToolServer, room: int) -> Span:
        return Span(_server_label(server.name, tools.source))

    columns: tuple[Column[ToolServer], ...] = (
        Column("", 1, lambda server, _: Span("ƒ", "cat-tools"), gap=1),
        Column("", 0, name, "left", gap=1),
        Column("", 7, _tokens),
        Column("", 4, lambda server, room: _bar(server.tokens, most, room), "left", gap=1),
        Column("", 11, _calls),
    )
    table = Table(columns, mark=0)
    for server in tools.servers:
        yield table.draw(server, room)


ListRow = ToolServer | ToolFigures


def _tokens(row: ListRow, room: int) -> Span:
    shown = numbers.NONE if row.tokens is None else numbers.tokens(row.tokens)
    return Span(shown, "ink bold" if (row.tokens or 0) >= 1000 else "ink" if row.tokens is not None else "faint")


def _bar(tokens: int | None, most: int, room: int) -> Span:
    return Span(bars.line(tokens or 0, most, room), "cat-tools")


def _calls(row: ListRow, room: int) -> Span:
    return Span(numbers.many(row.calls, "call"), "warn" if row.calls == 0 else "dim")


def explain_tokens(row: ListRow) -> str:
    if row.tokens is None:
        return "Its definition is not recorded."
    if isinstance(row, ToolServer):
        return sums.addition(row.tokens, "tokens", [tool.tokens for tool in row.tools if tool.tokens], "tools")
    return f"{row.tokens:,} tokens in every call that sends it."


def _explain_calls(row: ListRow) -> str:
    if isinstance(row, ToolServer):
        return sums.addition(row.calls, "calls", [tool.calls for tool in row.tools if tool.calls], "tools")
    return f"{row.calls:,} times up to this call."


def rows(servers: Sequence[ToolServer]) -> list[ListRow]:
    list_rows: list[ListRow] = []
    for server in servers:
        list_rows += [server, *server.tools]
    return list_rows


def table(rows: Sequence[ListRow], source: str) -> Table[ListRow]:
    """The table of servers and their tools, for the list of tools."""
    most = max((row.tokens or 0 for row in rows if isinstance(row, ToolFigures)), default=0)

    def name(row: ListRow, room: int) -> list[Span]:
        if isinstance(row, ToolServer):
            tool_count = numbers.many(len(row.tools), "tool")
            tool_count += f", {row.unused_count:,} never called" if row.unused_count else ""
            return [Span("ƒ ", "cat-tools"), Span(f"{_server_label(row.name, source)}  {tool_count}", "cat-tools bold")]
        words = safe_text.one_line(row.name, 200) or "(all tools of the server; not listed in the request)"
        return [Span("    "), Span(words, "ink" if row.calls else "dim")]

    return Table(
        (
            Column("", 0, name, "left"),
            Column("", 7, _tokens, sum=explain_tokens),
            Column(
                "",
                4,
                lambda row, room: _bar(row.tokens, 0 if isinstance(row, ToolServer) else most, room),
                "left",
                gap=1,
                wider=((100, 8),),
            ),
            Column(
                "",
                13,
                lambda row, _: Span("" if isinstance(row, ToolServer) else STATE_LABELS[row.state], "dim"),
                "left",
                gap=1,
            ),
            Column("", 11, _calls, sum=_explain_calls),
        )
    )
