"""The tools of a context: built in and by MCP server, what their definitions take, and which were never called."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from ctxtui.analysis.content.tool_definitions import PREFIXING
from ctxtui.analysis.content.tools import (
    DEFERRED,
    FOUND,
    LOADED,
    UNKNOWN,
    ToolFigures,
    ToolServer,
    ToolUse,
    totals,
    used,
)
from ctxtui.views.model.scene import Scene
from ctxtui.views.text import bars, cells, numbers, safe_text
from ctxtui.views.text.span import Span

STATE: Final = {LOADED: "", DEFERRED: "deferred", FOUND: "found", UNKNOWN: "not recorded"}
"""What is said of a definition's state; the normal case is not marked."""
_CALLS = 12
_STATE = 13


@dataclass(frozen=True, slots=True)
class Toolset:
    """All servers with their tools, how many tools are defined, how many of them were never called; `source` is the
    recording's format."""

    servers: tuple[ToolServer, ...]
    defined: int
    unused: int
    source: str = ""


def toolset(scene: Scene, use: ToolUse) -> Toolset:
    """The tools of the context shown, by server; most tokens first, then most calls."""
    use.show(scene.head)
    servers = tuple(use.servers(scene.running.own if scene.counted else None))
    return Toolset(servers, *totals(servers), scene.session.about.source)


def in_thread(scene: Scene) -> Toolset:
    """As `toolset`, with the calls of the whole thread up to the call shown."""
    tree, use = scene.session.tree, ToolUse(scene.session.tree)
    use.show(scene.head)
    calls = used(tree, scene.calls[: scene.number])
    servers = tuple(use.servers(scene.running.own if scene.counted else None, calls))
    return Toolset(servers, *totals(servers), scene.session.about.source)


def notes(what: Toolset) -> list[Span]:
    """For the rule: how many definitions are carried along for nothing."""
    if not what.defined:
        return [Span("definitions not recorded", "dim")] if what.servers else []
    if not what.unused:
        return [Span(f"all {what.defined} called", "dim")]
    return [Span("never called ", "warn"), Span(f"{what.unused} of {what.defined}", "dim")]


def server_label(name: str, source: str) -> str:
    """A server's name on screen: ``mcp github``; ``built-in`` where `source` names its servers."""
    if name:
        return f"mcp {safe_text.one_line(name, 60)}"
    return "built-in" if source in PREFIXING else "no server named"


def lines(what: Toolset, room: int) -> Iterable[list[Span]]:
    """The body of the pane, one server per line."""
    if not what.servers:
        yield [Span(" No tools in this context.", "dim")]
    most = max((server.tokens or 0 for server in what.servers), default=0)
    for server in what.servers:
        words = Span(cells.left(server_label(server.name, what.source), max(4, room - 3 - 7 - 1 - 4 - _CALLS)), "ink")
        yield [Span(" ƒ ", "cat-tools"), words, *_figures(server.tokens, most, 4), _calls(server.calls)]


def _figures(tokens: int | None, most: int, bar: int) -> list[Span]:
    shown = numbers.NONE if tokens is None else numbers.tokens(tokens)
    return [
        Span(f"{shown:>7} ", "ink bold" if (tokens or 0) >= 1000 else "ink" if tokens is not None else "faint"),
        Span(bars.line(tokens or 0, most, bar).ljust(bar), "cat-tools"),
    ]


def _calls(calls: int) -> Span:
    told = f"{calls:,} call{'s' if calls != 1 else ''}"
    return Span(f"{told:>{_CALLS - 1}} ", "warn" if calls == 0 else "dim")


ListRow = ToolServer | ToolFigures


def rows(servers: Sequence[ToolServer]) -> list[ListRow]:
    """The list of all tools: each server, then its tools."""
    found: list[ListRow] = []
    for server in servers:
        found += [server, *server.tools]
    return found


def draw(row: ListRow, most: int, room: int, *, source: str, here: bool) -> list[Span]:
    """A row of that list in `room` cells; `most` are the tokens of the heaviest tool, `source` is the
    recording's format."""
    cursor = Span("▸" if here else " ", "accent")
    if isinstance(row, ToolServer):
        told = f"{len(row.tools):,} tool{'s' if len(row.tools) != 1 else ''}"
        name = f"{server_label(row.name, source)}  {told}" + (f", {row.unused:,} never called" if row.unused else "")
        left, state = [cursor, Span("ƒ ", "cat-tools"), Span(name, "cat-tools bold")], ""
    else:
        name = safe_text.one_line(row.name, 200) or "(all tools of the server; not listed in the request)"
        left, state = [cursor, Span("    "), Span(name, "ink" if row.calls else "dim")], STATE[row.state]
    bar = 8 if room >= 100 else 4
    tokens, share = row.tokens, 0 if isinstance(row, ToolServer) else most
    taken = sum(cells.width(span.text) for span in left[:-1])
    words = Span(cells.left(left[-1].text, max(4, room - taken - 8 - bar - _STATE - 1 - _CALLS)), left[-1].style)
    figures = _figures(tokens, share, bar)
    return [*left[:-1], words, *figures, Span(f" {state:<{_STATE}}", "dim"), _calls(row.calls)]
