"""The tools of a context by server: what their definitions take, whether they are loaded, how often each was called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from msgspec import Struct

from ctxtui.analysis.content.block_lifetimes import Stays
from ctxtui.analysis.content.tool_definitions import Defined, called, definitions, referred
from ctxtui.core.call import Call
from ctxtui.core.category import INDEX
from ctxtui.core.tree import ROOT, Tree

LOADED, DEFERRED, FOUND, UNKNOWN = "loaded", "deferred", "found", "unknown"
"""Whether a definition is read: from the start; not until it is found; found since; not recorded."""

_CALL, _TOOLS, _RESULT = INDEX["tool_call"], INDEX["tools"], INDEX["tool_result"]


class ToolFigures(Struct, frozen=True):
    """One tool: `tokens` of its definition (None: not recorded, or not counted yet), its `state`, `calls` made of it. A
    `name` "" stands for all tools of a server that are not listed."""

    server: str
    name: str
    tokens: int | None
    state: str
    calls: int


class ToolServer(Struct, frozen=True):
    """The tools of one server ("": none that is named), heaviest first; `tokens` of all definitions (None: none is
    recorded)."""

    name: str
    tools: tuple[ToolFigures, ...]
    tokens: int | None
    calls: int

    @property
    def unused(self) -> int:
        """How many recorded definitions were never called."""
        return sum(tool.state != UNKNOWN and not tool.calls for tool in self.tools)


class _Definition(NamedTuple):
    node: int
    share: float
    deferred: bool


class Homes:
    """Which server defines a tool, where its call does not name one: of the `defined` (server, name)."""

    def __init__(self, defined: Iterable[tuple[str, str]]) -> None:
        servers: dict[str, str] = {}
        for server, name in defined:
            # What is defined without a server is meant by its name alone.
            servers[name] = server if servers.get(name, server) else ""
        self._servers = servers

    def server(self, server: str, name: str) -> str:
        """The server of the tool `name` whose call names `server`, or none ("")."""
        return server or self._servers.get(name, "")


class ToolUse:
    """What is defined and called on a path; going to the next call reads its new blocks only."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._head = ROOT
        self._calls: Counter[tuple[str, str]] = Counter()
        self._defined: dict[tuple[str, str], _Definition] = {}
        self._found: set[str] = set()

    def show(self, head: int) -> None:
        """Take in what is on the path to `head`."""
        tree = self._tree
        if tree.common(self._head, head) != self._head:
            self._head = ROOT
            self._calls.clear()
            self._defined.clear()
            self._found.clear()
        for node in tree.path(head, self._head):
            block, category = tree[node].block, tree[node].category
            if category == _CALL:
                self._calls[called(block)] += 1
            elif category == _TOOLS:
                for one in definitions(block):
                    self._define(node, one)
            elif category == _RESULT:
                self._found.update(referred(block))
        self._head = head

    def _define(self, node: int, one: Defined) -> None:
        self._defined[one.server, one.name] = _Definition(node, one.share, one.deferred)

    def servers(
        self, own: Callable[[int], int] | None, used: Counter[tuple[str, str]] | None = None
    ) -> list[ToolServer]:
        """The tools by server: most tokens first, then most calls. `own` gives the tokens of a node's block; None while
        they are not counted. Calls are those on the path, or those of `used`."""
        calls = self._resolved(self._calls if used is None else used)
        names = dict.fromkeys([*self._defined, *calls])
        by_server: dict[str, list[ToolFigures]] = {}
        for server, name in names:
            by_server.setdefault(server, []).append(self._tool(server, name, calls[server, name], own))
        found = [_server(name, tools) for name, tools in by_server.items()]
        return sorted(found, key=lambda one: (-(one.tokens or 0), -one.calls, one.name))

    def _resolved(self, calls: Counter[tuple[str, str]]) -> Counter[tuple[str, str]]:
        homes = Homes(self._defined)
        found: Counter[tuple[str, str]] = Counter()
        for (server, name), count in calls.items():
            found[homes.server(server, name), name] += count
        return found

    def _tool(self, server: str, name: str, calls: int, own: Callable[[int], int] | None) -> ToolFigures:
        defined = self._defined.get((server, name))
        if defined is None:
            return ToolFigures(server, name, None, UNKNOWN, calls)
        state = LOADED if not defined.deferred else FOUND if self._is_found(server, name) else DEFERRED
        return ToolFigures(server, name, round(own(defined.node) * defined.share) if own else None, state, calls)

    def _is_found(self, server: str, name: str) -> bool:
        return not self._found.isdisjoint(spellings(server, name))


def tool_calls(stays: Stays, tree: Tree) -> Iterator[tuple[int, int]]:
    """Every tool call of a thread once, also where the context has lost it since: its node, and the number (from 0) of
    the call whose answer it was, or seems to be where the answer is not on record."""
    for node in stays.every():
        if tree[node].category == _CALL:
            made, first = stays.answered(node), stays.first(node) or 0
            yield node, max(0, first - 1) if made is None else made
    for node in stays.answers():
        made = stays.answered(node)
        if tree[node].category == _CALL and stays.first(node) is None and made is not None:
            yield node, made


def used(tree: Tree, calls: Sequence[Call]) -> Counter[tuple[str, str]]:
    """How often each tool, by (server, name) as its calls say, was called in these `calls` of a thread, their answers
    included."""
    stays = Stays(tree)
    stays.advance(calls)
    return Counter(called(tree[node].block) for node, _ in tool_calls(stays, tree))


def _server(name: str, tools: Iterable[ToolFigures]) -> ToolServer:
    ordered = sorted(tools, key=lambda tool: (-(tool.tokens or 0), -tool.calls, tool.name))
    known = [tool.tokens for tool in ordered if tool.tokens is not None]
    return ToolServer(name, tuple(ordered), sum(known) if known else None, sum(tool.calls for tool in ordered))


def spellings(server: str, name: str) -> tuple[str, ...]:
    """How a search's result may name the tool `name` of `server`."""
    return name, f"{server}.{name}", f"mcp__{server}__{name}", f"{server}__{name}"


def totals(servers: Sequence[ToolServer]) -> tuple[int, int]:
    """How many definitions are recorded, and how many of them were never called."""
    recorded = sum(tool.state != UNKNOWN for server in servers for tool in server.tools)
    return recorded, sum(server.unused for server in servers)
