"""Tokens and cost of each tool in a session: its definition, its calls and results."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from ctxtui.analysis.content.tools import DEFERRED, FOUND, LOADED, UNKNOWN, ServerLookup, tool_calls, tool_spellings
from ctxtui.analysis.short_names import Names
from ctxtui.core.block_content import read
from ctxtui.core.category import INDEX
from ctxtui.core.session import Session
from ctxtui.core.tool_definitions import (
    is_mcp,
    read_called_tool,
    read_definitions,
    read_referenced_tools,
    split_name,
)

if TYPE_CHECKING:
    # Stored results are read without importing ledgers.
    from ctxtui.analysis.money.block_costs import ThreadCosts

_CALL, _TOOLS, _RESULT, _SYSTEM = INDEX["tool_call"], INDEX["tools"], INDEX["tool_result"], INDEX["system"]
_LISTED: Final = re.compile(r"^mcp__[A-Za-z0-9_.-]+?__[A-Za-z0-9_.-]+$", re.MULTILINE)
"""A line of the list in which a client names tools that are deferred until they are searched for."""


class ToolCosts(Struct, frozen=True, kw_only=True):
    """One tool in one session. Calls are numbered from 0, in the session's order.

    - `mcp`: its server is shown to be an MCP server.
    - `tokens`: of its last definition; None: not recorded.
    - `state`: `LOADED`, `DEFERRED` (a client sends the definition once a search finds it), `FOUND` or `UNKNOWN`.
    - `carried`: stretches of calls (first, end) whose context had the definition; of a deferred one, since it was
      found.
    - `called`: the calls that used it, once for each use.
    - `results`: tokens of its results.
    - `schema_usd`, `use_usd`: input cost of the definition, and of its calls and results.
    """

    server: str
    name: str
    mcp: bool
    tokens: int | None
    state: str
    carried: tuple[tuple[int, int], ...]
    called: tuple[int, ...]
    results: int
    schema_usd: float
    use_usd: float


class _ToolState(Struct, kw_only=True):
    tokens: int | None = None
    last: int = -1
    loaded: bool = False
    is_found: bool = False
    carried: set[int] = field(default_factory=set)
    called: list[int] = field(default_factory=list)
    results: int = 0
    schema_usd: float = 0.0
    use_usd: float = 0.0

    @property
    def state(self) -> str:
        return (
            UNKNOWN if self.last < 0 else LOADED if self.loaded else FOUND if self.is_found or self.called else DEFERRED
        )


def tool_costs(session: Session, threads: Iterable[ThreadCosts], names: Names) -> list[ToolCosts]:
    """The tools of a session, heaviest definition first."""
    return _SessionReading(session, list(threads), names).rows()


class _SessionReading:
    def __init__(self, session: Session, threads: Sequence[ThreadCosts], names: Names) -> None:
        self._tree = session.tree
        self._threads = threads
        self._names = names
        self._order = {id_: number for number, id_ in enumerate(session.calls)}
        self._tools: dict[tuple[str, str], _ToolState] = {}
        self._homes = ServerLookup(self._defined_tools())
        self._mcp: set[str] = set()
        self._counted: set[tuple[str, int]] = set()

    def _defined_tools(self) -> Iterator[tuple[str, str]]:
        for thread in self._threads:
            for node in thread.nodes():
                if self._tree[node].category == _TOOLS:
                    yield from (
                        (definition.server, definition.name) for definition in read_definitions(self._tree[node].block)
                    )

    def rows(self) -> list[ToolCosts]:
        for thread in self._threads:
            searched = self._first_reads_of_found(thread)
            for node in thread.nodes():
                category = self._tree[node].category
                if category == _TOOLS:
                    self._add_definition(thread, node, searched)
                elif category in (_CALL, _RESULT):
                    self._add_use(thread, node)
                elif category == _SYSTEM or self._tree[node].place.mark == "meta":
                    self._add_listed(node)
            self._count_calls(thread)
        rows = [
            ToolCosts(
                server=server,
                name=name,
                mcp=server in self._mcp,
                tokens=tool.tokens,
                state=tool.state,
                carried=_group_stretches(tool.carried),
                called=tuple(sorted(tool.called)),
                results=tool.results,
                schema_usd=tool.schema_usd,
                use_usd=tool.use_usd,
            )
            for (server, name), tool in self._tools.items()
        ]
        return sorted(rows, key=lambda row: (-(row.tokens or 0), -len(row.called), row.server, row.name))

    def _state_of(self, server: str, name: str) -> _ToolState:
        return self._tools.setdefault((self._homes.find(server, name), name), _ToolState())

    def _session_number(self, thread: ThreadCosts, index: int) -> int:
        return self._order[thread.calls[index].id]

    def _first_reads_of_found(self, thread: ThreadCosts) -> dict[str, int]:
        """First call of the thread that reads each tool found by a search."""
        first_reads: dict[str, int] = {}
        for node in thread.nodes():
            if self._tree[node].category == _RESULT:
                first = thread.lifetimes.first_call(node) or 0
                for name in read_referenced_tools(self._tree[node].block):
                    first_reads[name] = min(first, first_reads.get(name, first))
        return first_reads

    def _add_definition(self, thread: ThreadCosts, node: int, searched: dict[str, int]) -> None:
        usd, tokens = thread.input_usd(node), thread.running.block_tokens(node)
        stretches = thread.lifetimes.stretches(node, len(thread.calls))
        indices = [index for start, stop, _ in stretches for index in range(start, stop)]
        for definition in read_definitions(self._tree[node].block):
            tool = self._state_of(definition.server, definition.name)
            spellings = tool_spellings(definition.server, definition.name)
            first_call = min((searched[name] for name in spellings if name in searched), default=len(thread.calls))
            carried = [n for n in indices if n >= first_call] if definition.deferred else indices
            tool.loaded |= not definition.deferred
            tool.is_found |= definition.deferred and bool(carried)
            tool.carried.update(self._session_number(thread, index) for index in carried)
            last = max((self._session_number(thread, index) for index in indices), default=-1)
            if last >= tool.last:
                tool.last, tool.tokens = last, round(tokens * definition.share)
            tool.schema_usd += usd * definition.share

    def _add_listed(self, node: int) -> None:
        """Add tools that a client only names: they are deferred until searched for."""
        block = self._tree[node].block
        for name in _LISTED.findall(read(block).text) if b"mcp__" in block.body else ():
            server, tool_name = split_name(name)
            tool = self._state_of(server, tool_name)
            self._mcp.add(server)
            tool.last = max(tool.last, 0)

    def _add_use(self, thread: ThreadCosts, node: int) -> None:
        tree = self._tree
        server, name = self._tool_of(node)
        tool = self._state_of(server, name)
        tool.use_usd += thread.input_usd(node)
        if tree[node].category == _RESULT and self._is_new(thread, node):
            tool.results += thread.running.block_tokens(node)

    def _tool_of(self, node: int) -> tuple[str, str]:
        node_row = self._tree[node]
        if node_row.category == _CALL:
            return read_called_tool(node_row.block)
        call_node = self._names.call_of_result(node_row)
        return (
            read_called_tool(self._tree[call_node].block)
            if call_node is not None
            else split_name(self._names.label(node_row))
        )

    def _is_new(self, thread: ThreadCosts, node: int) -> bool:
        """Whether the block is seen for the first time.

        A thread may begin with a copy of another's history.
        """
        key = (self._tree[node].block.digest, thread.lifetimes.nth(node))
        if key in self._counted:
            return False
        self._counted.add(key)
        return True

    def _count_calls(self, thread: ThreadCosts) -> None:
        for node, index in tool_calls(thread.lifetimes, self._tree):
            if self._is_new(thread, node):
                block = self._tree[node].block
                server, name = read_called_tool(block)
                if server and server not in self._mcp and is_mcp(block, server):
                    self._mcp.add(server)
                self._state_of(server, name).called.append(self._session_number(thread, index))


def _group_stretches(numbers: Iterable[int]) -> tuple[tuple[int, int], ...]:
    stretches: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if stretches and stretches[-1][1] == number:
            stretches[-1] = (stretches[-1][0], number + 1)
        else:
            stretches.append((number, number + 1))
    return tuple(stretches)
