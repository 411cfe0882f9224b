"""Tools of a context by server: tokens and states of definitions, and number of calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from msgspec import Struct

from ctxtui.analysis.content.block_lifetimes import BlockLifetimes
from ctxtui.core.block import Block
from ctxtui.core.block_content import read
from ctxtui.core.call import Call
from ctxtui.core.category import INDEX
from ctxtui.core.tool_definitions import (
    UncalledTools,
    read_called_tool,
    read_definitions,
    read_referenced_tools,
)
from ctxtui.core.tree import ROOT, Tree

LOADED, DEFERRED, FOUND, UNKNOWN = "loaded", "deferred", "found", "unknown"
"""States of a definition: read from the start; not read until found; found since; not recorded."""

_CALL, _TOOLS, _RESULT = INDEX["tool_call"], INDEX["tools"], INDEX["tool_result"]


class ToolFigures(Struct, frozen=True):
    """One tool, with its state, its calls and the tokens of its definition.

    `tokens` is None if they are not recorded, or not counted yet. A `name` "" means all tools of a server that are not
    listed.
    """

    server: str
    name: str
    tokens: int | None
    state: str
    calls: int


class ToolServer(Struct, frozen=True):
    """Tools of one server ("": unnamed), heaviest first, with the tokens of all definitions."""

    name: str
    tools: tuple[ToolFigures, ...]
    tokens: int | None
    calls: int

    @property
    def unused_count(self) -> int:
        return sum(tool.state != UNKNOWN and not tool.calls for tool in self.tools)


class _Definition(NamedTuple):
    node: int
    share: float
    deferred: bool


class ServerLookup:
    """Finds the server of a tool if its call names none, from `defined` (server, name) pairs."""

    def __init__(self, defined: Iterable[tuple[str, str]]) -> None:
        servers: dict[str, str] = {}
        for server, name in defined:
            # A tool defined without a server is identified by its name.
            servers[name] = server if servers.get(name, server) else ""
        self._servers = servers

    def find(self, server: str, name: str) -> str:
        return server or self._servers.get(name, "")


class ToolUse:
    """Tools defined and called on a path; moving to the next call reads only its new blocks."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._head = ROOT
        self._calls: Counter[tuple[str, str]] = Counter()
        self._defined: dict[tuple[str, str], _Definition] = {}
        self._referenced_names: set[str] = set()

    def read_path(self, head: int) -> None:
        """Read the blocks up to `head`."""
        tree = self._tree
        if tree.common(self._head, head) != self._head:
            self._head = ROOT
            self._calls.clear()
            self._defined.clear()
            self._referenced_names.clear()
        for node in tree.path(head, self._head):
            block, category = tree[node].block, tree[node].category
            if category == _CALL:
                self._calls[read_called_tool(block)] += 1
            elif category == _TOOLS:
                for tool in read_definitions(block):
                    self._defined[tool.server, tool.name] = _Definition(node, tool.share, tool.deferred)
            elif category == _RESULT:
                self._referenced_names.update(read_referenced_tools(block))
        self._head = head

    def servers(
        self, tokens_of: Callable[[int], int] | None, used: Counter[tuple[str, str]] | None = None
    ) -> list[ToolServer]:
        """Tools by server: most tokens first, then most calls.

        `tokens_of` gives the tokens of a node's block. Calls are those of `used` (None: those on the path).
        """
        calls = self._resolve_servers(self._calls if used is None else used)
        names = dict.fromkeys([*self._defined, *calls])
        by_server: dict[str, list[ToolFigures]] = {}
        for server, name in names:
            by_server.setdefault(server, []).append(self._make_figures(server, name, calls[server, name], tokens_of))
        servers = [_make_server(name, tools) for name, tools in by_server.items()]
        return sorted(servers, key=lambda server: (-(server.tokens or 0), -server.calls, server.name))

    def _resolve_servers(self, calls: Counter[tuple[str, str]]) -> Counter[tuple[str, str]]:
        homes = ServerLookup(self._defined)
        resolved: Counter[tuple[str, str]] = Counter()
        for (server, name), count in calls.items():
            resolved[homes.find(server, name), name] += count
        return resolved

    def _make_figures(self, server: str, name: str, calls: int, tokens_of: Callable[[int], int] | None) -> ToolFigures:
        defined = self._defined.get((server, name))
        if defined is None:
            return ToolFigures(server, name, None, UNKNOWN, calls)
        state = LOADED if not defined.deferred else FOUND if self._is_found(server, name) else DEFERRED
        return ToolFigures(
            server, name, round(tokens_of(defined.node) * defined.share) if tokens_of else None, state, calls
        )

    def _is_found(self, server: str, name: str) -> bool:
        return not self._referenced_names.isdisjoint(tool_spellings(server, name))


def tool_calls(lifetimes: BlockLifetimes, tree: Tree) -> Iterator[tuple[int, int]]:
    """Yield every tool call of a thread, with the number (from 0) of the call that made it.

    Without a recorded answer, it is the call that probably made it.
    """
    for node in lifetimes.all_nodes():
        if tree[node].category == _CALL:
            number, first = lifetimes.answering_call(node), lifetimes.first_call(node) or 0
            yield node, max(0, first - 1) if number is None else number
    for node in lifetimes.answer_nodes():
        number = lifetimes.answering_call(node)
        if tree[node].category == _CALL and lifetimes.first_call(node) is None and number is not None:
            yield node, number


def count_tool_calls(tree: Tree, calls: Sequence[Call]) -> Counter[tuple[str, str]]:
    """Count the calls of each tool, by (server, name), in `calls` including their answers."""
    lifetimes = BlockLifetimes(tree)
    lifetimes.advance(calls)
    return Counter(read_called_tool(tree[node].block) for node, _ in tool_calls(lifetimes, tree))


def list_called_definitions(tree: Tree, calls: Sequence[Call], definitions: Iterable[Block]) -> set[str]:
    """Names of the `definitions` of a tool that was called in `calls` including their answers."""
    blocks, tools, lifetimes = list(definitions), UncalledTools(), BlockLifetimes(tree)
    for block in blocks:
        tools.add_definitions(block)
    lifetimes.advance(calls)
    for node, _ in tool_calls(lifetimes, tree):
        tools.add_call(tree[node].block)
    uncalled = tools.find()
    return {read(block).name for block in blocks if block.digest not in uncalled}


def _make_server(name: str, tools: Iterable[ToolFigures]) -> ToolServer:
    ordered = sorted(tools, key=lambda tool: (-(tool.tokens or 0), -tool.calls, tool.name))
    sizes = [tool.tokens for tool in ordered if tool.tokens is not None]
    return ToolServer(name, tuple(ordered), sum(sizes) if sizes else None, sum(tool.calls for tool in ordered))


def tool_spellings(server: str, name: str) -> tuple[str, ...]:
    """Names that a search's result may use for the tool `name` of `server`."""
    return name, f"{server}.{name}", f"mcp__{server}__{name}", f"{server}__{name}"


def count_definitions(servers: Sequence[ToolServer]) -> tuple[int, int]:
    """Number of recorded definitions, and of those whose tool is never called."""
    recorded = sum(tool.state != UNKNOWN for server in servers for tool in server.tools)
    return recorded, sum(server.unused_count for server in servers)
