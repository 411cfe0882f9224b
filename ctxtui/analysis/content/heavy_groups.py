"""What the large categories of a context are made of: the blocks of one file, one program or one tool as a group."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from msgspec import Struct

from ctxtui.analysis.short_names import Names
from ctxtui.core.block_content import BlockContent, arguments_value, read
from ctxtui.core.category import INDEX
from ctxtui.core.file_accesses import find_touches
from ctxtui.core.tree import Node, Tree

FILE, OUTPUT, RESULTS, BODIES, CALLS = "file", "output", "results", "bodies", "calls"
"""What a group is: readings of a file, a program's output, a tool's results, texts that a tool writes, a tool's
calls."""

_OF_CALLS: Final = frozenset({BODIES, CALLS})
"""The others are of results."""

_CALL, _RESULT = INDEX["tool_call"], INDEX["tool_result"]
_NEWEST: Final = 64
"""Blocks at the end of a context that are looked at first."""
_COMMANDS: Final = ("command", "cmd", "script")
_BEFORE: Final = re.compile(r"\s*(?:cd\s+[^;&|]+(?:&&|;)\s*|[A-Za-z_]\w*=\S*\s+|(?:sudo|env|time|timeout\s+\S+)\s+)*")
_PROGRAM: Final = re.compile(r"(?:[^\s;&|()'\"`$]*/)?([A-Za-z0-9_.+-]+)")
_WRITING: Final = re.compile(r"write|edit|patch|create|replace|insert|notebook", re.IGNORECASE)


class HeavyGroup(Struct, frozen=True):
    """Blocks of `category` (an index) that belong together: `name` is a file, a program or a tool, `what` says which
    (`FILE` ...), `tokens` their sum, `count` how many they are, `node` the heaviest of them."""

    category: int
    name: str
    what: str
    tokens: int
    count: int
    node: int


class HeavyGroups:
    """Groups calls and results of contexts in one session. One thread learns; any may ask."""

    def __init__(self, tree: Tree, cwd: str = "") -> None:
        self._tree = tree
        self._cwd = cwd
        self._names: Names | None = None
        self._reached = 1
        self._of: dict[int, int] = {}
        """By node the number of its group, where that is learnt."""
        self._keys: list[tuple[str, str]] = []
        """By number the name of a group, and what it is (`FILE` ...)."""
        self._numbers: dict[tuple[str, str], int] = {}
        self._learnt = 0

    def learn_new(self) -> None:
        """Learn all blocks of the session that came since this was done last."""
        last = len(self._tree)
        self.learn(range(self._reached, last))
        self._reached = last

    @property
    def learnt(self) -> int:
        """How many blocks are learnt."""
        return self._learnt

    def learn(self, path: Iterable[int]) -> None:
        """Find out to which group each block of a `path` belongs."""
        for node in path:
            here = self._tree[node]
            if here.category not in (_CALL, _RESULT) or node in self._of:
                continue
            key = self._named(here)
            number = self._numbers.get(key)
            if number is None:
                # Whoever asks finds a number only when its group is there.
                number = self._numbers[key] = len(self._keys)
                self._keys.append(key)
            self._of[node] = number
            self._learnt += 1

    def of(self, path: Sequence[int], tokens: Callable[[int], int]) -> Sequence[HeavyGroup] | None:
        """The groups on a `path`, the heaviest first; None while a block of it is not learnt. `tokens` gives what the
        model reads of a block."""
        # The newest are learnt last: where they are not, the others need not be gone through.
        if any(node not in self._of and self._tree[node].category in (_CALL, _RESULT) for node in path[-_NEWEST:]):
            return None
        sums: dict[int, int] = {}
        counts: dict[int, int] = {}
        heaviest: dict[int, tuple[int, int]] = {}
        for node in path:
            number = self._of.get(node)
            if number is not None:
                if (size := tokens(node)) > 0:
                    sums[number] = sums.get(number, 0) + size
                    counts[number] = counts.get(number, 0) + 1
                    heaviest[number] = max(heaviest.get(number, (0, 0)), (size, node))
            elif node >= self._reached and self._tree[node].category in (_CALL, _RESULT) and tokens(node) > 0:
                return None
        order = sorted(sums, key=lambda number: (-sums[number], heaviest[number][1]))
        return [self._group(number, sums[number], counts[number], heaviest[number][1]) for number in order]

    def _group(self, number: int, size: int, count: int, node: int) -> HeavyGroup:
        name, what = self._keys[number]
        return HeavyGroup(_CALL if what in _OF_CALLS else _RESULT, name, what, size, count, node)

    def _named(self, node: Node) -> tuple[str, str]:
        """The name of a node's group, and what it is."""
        got = read(node.block)
        if node.category == _CALL:
            return (got.name, BODIES if _WRITING.search(got.name) else CALLS)
        names = self._names = self._names or Names(self._tree)
        call = names.call(got.call_id or names.answered(node), node.id)
        if call is None:
            return (got.name or "tool", RESULTS)
        touched = next(iter(find_touches(call, self._cwd)), None)
        if touched is not None and touched.kind == "read":
            return (touched.path, FILE)
        program = _program(call)
        return (program, OUTPUT) if program else (call.name, RESULTS)


def _program(call: BlockContent) -> str:
    """The program that a call runs; "" where it runs none."""
    given = arguments_value(call) if call.arguments else {}
    if not isinstance(given, dict):
        return ""
    for key in _COMMANDS:
        command = given.get(key)
        if isinstance(command, list) and command and all(isinstance(word, str) for word in command):
            command = command[2] if len(command) == 3 and command[1] in ("-c", "-lc") else " ".join(command)
        if isinstance(command, str) and command.strip():
            start = _BEFORE.match(command)
            found = _PROGRAM.match(command, start.end() if start is not None else 0)
            return found[1] if found is not None else ""
    return ""
