"""Groups the tool calls and results of a context by file, program or tool."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from msgspec import Struct

from ctxtui.analysis.short_names import Names
from ctxtui.core.block_content import BlockContent, read
from ctxtui.core.category import INDEX
from ctxtui.core.file_accesses import find_touches, shell_command
from ctxtui.core.tree import Node, Tree

FILE, OUTPUT, RESULTS, BODIES, CALLS = "file", "output", "results", "bodies", "calls"
"""Kinds of groups: reads of a file, a program's output, a tool's results, texts written by a tool, a tool's calls."""

_OF_CALLS: Final = frozenset({BODIES, CALLS})

_CALL, _RESULT = INDEX["tool_call"], INDEX["tool_result"]
_CHECKED_FIRST: Final = 64
"""Number of blocks at the end of a context that are checked first."""
_BEFORE: Final = re.compile(r"\s*(?:cd\s+[^;&|]+(?:&&|;)\s*|[A-Za-z_]\w*=\S*\s+|(?:sudo|env|time|timeout\s+\S+)\s+)*")
"""Text before the program of a command: a change of directory, variables, wrappers."""
_PROGRAM: Final = re.compile(r"(?:[^\s;&|()'\"`$]*/)?([A-Za-z0-9_.+-]+)")
_WRITING: Final = re.compile(r"write|edit|patch|create|replace|insert|notebook", re.IGNORECASE)
"""Names of tools whose calls contain the text that they write."""


class HeavyGroup(Struct, frozen=True):
    """Blocks of a category (its index) that belong together.

    - `name`: a file, a program or a tool; `what`: the kind of group (`FILE` ...).
    - `tokens`: their sum; `count`: their number; `node`: the heaviest of them.
    """

    category: int
    name: str
    what: str
    tokens: int
    count: int
    node: int


class HeavyGroups:
    """Groups the tool calls and results of a session's contexts.

    One thread learns; any may read.
    """

    def __init__(self, tree: Tree, cwd: str = "") -> None:
        self._tree = tree
        self._cwd = cwd
        self._names: Names | None = None
        self._reached = 1
        self._group_of: dict[int, int] = {}
        """By node of a learnt block: the number of its group."""
        self._keys: list[tuple[str, str]] = []
        """Name and kind (`FILE` ...) of a group, by number."""
        self._numbers: dict[tuple[str, str], int] = {}
        self._learnt = 0

    def learn_new(self) -> None:
        last = len(self._tree)
        self.learn(range(self._reached, last))
        self._reached = last

    @property
    def learnt_count(self) -> int:
        return self._learnt

    def learn(self, path: Iterable[int]) -> None:
        """Find the group of each tool call and result among the nodes of `path`."""
        for node in path:
            node_row = self._tree[node]
            if node_row.category not in (_CALL, _RESULT) or node in self._group_of:
                continue
            key = self._group_key(node_row)
            number = self._numbers.get(key)
            if number is None:
                # Append the group before any node refers to its number: other threads may be reading.
                number = self._numbers[key] = len(self._keys)
                self._keys.append(key)
            self._group_of[node] = number
            self._learnt += 1

    def groups_on(self, path: Sequence[int], tokens: Callable[[int], int]) -> Sequence[HeavyGroup] | None:
        """Groups on a `path`, the heaviest first; None while a block of it is not learnt.

        `tokens` gives the tokens of a block that the model reads.
        """
        # The newest are learnt last, so they are checked first.
        if any(
            node not in self._group_of and self._tree[node].category in (_CALL, _RESULT)
            for node in path[-_CHECKED_FIRST:]
        ):
            return None
        sums: dict[int, int] = {}
        counts: dict[int, int] = {}
        heaviest: dict[int, tuple[int, int]] = {}
        for node in path:
            number = self._group_of.get(node)
            if number is not None:
                if (size := tokens(node)) > 0:
                    sums[number] = sums.get(number, 0) + size
                    counts[number] = counts.get(number, 0) + 1
                    heaviest[number] = max(heaviest.get(number, (0, 0)), (size, node))
            elif node >= self._reached and self._tree[node].category in (_CALL, _RESULT) and tokens(node) > 0:
                return None
        order = sorted(sums, key=lambda number: (-sums[number], heaviest[number][1]))
        return [self._make_group(number, sums[number], counts[number], heaviest[number][1]) for number in order]

    def _make_group(self, number: int, size: int, count: int, node: int) -> HeavyGroup:
        name, what = self._keys[number]
        return HeavyGroup(_CALL if what in _OF_CALLS else _RESULT, name, what, size, count, node)

    def _group_key(self, node: Node) -> tuple[str, str]:
        content = read(node.block)
        if node.category == _CALL:
            return (content.name, BODIES if _WRITING.search(content.name) else CALLS)
        names = self._names = self._names or Names(self._tree)
        call = names.call(names.answered_id(node), node.id)
        if call is None:
            return (content.name or "tool", RESULTS)
        touched = next(iter(find_touches(call, self._cwd)), None)
        if touched is not None and touched.kind == "read":
            return (touched.path, FILE)
        program = _program_of(call)
        return (program, OUTPUT) if program else (call.name, RESULTS)


def _program_of(call: BlockContent) -> str:
    command = shell_command(call)
    start = _BEFORE.match(command)
    program = _PROGRAM.match(command, start.end() if start is not None else 0)
    return program[1] if program is not None else ""
