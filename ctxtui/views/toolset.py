"""The tools of a context: built in and by MCP server, what their definitions take, and which were never called."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from ctxtui.core.block import Block
from ctxtui.core.category import INDEX
from ctxtui.core.reading import read
from ctxtui.core.tree import ROOT, Tree
from ctxtui.views import bars, cells, numbers, safe_text
from ctxtui.views.scene import Scene
from ctxtui.views.span import Span

BUILT_IN = "built-in"
_NAME = re.compile(rb'\{"type":"(?:tool_use|function_call)",(?:"\w+":"[^"\\]*",){0,3}"name":"([\w.:/-]+)"')
_CALL, _TOOLS = INDEX["tool_call"], INDEX["tools"]


@dataclass(frozen=True, slots=True)
class ToolGroup:
    """The tools of one server: their `names`, the tokens of their definitions (None: not recorded), `calls` made."""

    name: str
    tokens: int | None
    calls: int


@dataclass(frozen=True, slots=True)
class Toolset:
    """All groups, how many tools are defined, how many of them were never called."""

    groups: tuple[ToolGroup, ...]
    defined: int
    unused: int


class CallCounts:
    """How often each tool was called on a path; going to the next call reads its new blocks only."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._head = ROOT
        self.calls: Counter[str] = Counter()
        self.defined: dict[str, int] = {}

    def show(self, head: int) -> None:
        """Count what is on the path to `head`."""
        tree = self._tree
        if tree.common(self._head, head) != self._head:
            self._head = ROOT
            self.calls.clear()
            self.defined.clear()
        for node in tree.path(head, self._head):
            category = tree[node].category
            if category == _CALL:
                self.calls[_name(tree[node].block)] += 1
            elif category == _TOOLS and tree[node].place.section == "tools":
                self.defined[_name(tree[node].block)] = node
        self._head = head


def _name(block: Block) -> str:
    # Decoding a long session's calls for their names alone would take longer than a frame.
    found = _NAME.match(block.body)
    return found[1].decode() if found else read(block).name


def server_of(tool: str) -> str:
    """The MCP server in a client's tool name (``mcp__puppeteer__navigate``), else ``built-in``."""
    parts = tool.split("__")
    return f"mcp {parts[1]}" if tool.startswith("mcp__") and len(parts) > 2 else BUILT_IN


def toolset(scene: Scene, counts: CallCounts) -> Toolset:
    """The tools of the context shown, by server; most tokens first, then most calls."""
    counted = scene.counted
    groups = []
    for server in dict.fromkeys(map(server_of, [*counts.defined, *counts.calls])):
        nodes = [node for name, node in counts.defined.items() if server_of(name) == server]
        calls = sum(count for name, count in counts.calls.items() if server_of(name) == server)
        tokens = sum(map(scene.running.own, nodes)) if nodes and counted else None
        groups.append(ToolGroup(safe_text.one_line(server, 60), tokens, calls))
    groups.sort(key=lambda group: (-(group.tokens or 0), -group.calls))
    unused = sum(name not in counts.calls for name in counts.defined)
    return Toolset(tuple(groups), len(counts.defined), unused)


def notes(what: Toolset) -> list[Span]:
    """For the rule: how many definitions are carried along for nothing."""
    if not what.defined:
        return [Span("definitions not recorded", "dim")] if what.groups else []
    if not what.unused:
        return [Span(f"all {what.defined} called", "dim")]
    return [Span("never called ", "warn"), Span(f"{what.unused} of {what.defined}", "dim")]


def lines(what: Toolset, room: int) -> Iterable[list[Span]]:
    """The body, one group per line."""
    if not what.groups:
        yield [Span(" No tools in this context.", "dim")]
    most = max((group.tokens or 0 for group in what.groups), default=0)
    for group in what.groups:
        tokens = numbers.NONE if group.tokens is None else numbers.tokens(group.tokens)
        calls = f"{group.calls:,} call{'s' if group.calls != 1 else ''}"
        yield [
            Span(" ƒ ", "cat-tools"),
            Span(cells.left(group.name, max(4, room - 3 - 7 - 1 - 4 - 11 - 1)), "ink"),
            Span(f"{tokens:>7} ", "ink bold" if (group.tokens or 0) >= 1000 else "ink"),
            Span(bars.line(group.tokens or 0, most, 4).ljust(4), "cat-tools"),
            Span(f"{calls:>11} ", "warn" if group.calls == 0 else "dim"),
        ]
