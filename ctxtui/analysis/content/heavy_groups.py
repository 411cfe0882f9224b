"""What the large categories of a context are made of: the blocks of one file, one program or one tool as a group."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from ctxtui.analysis.content.file_accesses import touches
from ctxtui.analysis.short_names import Names
from ctxtui.core.block_content import BlockContent, arguments_value, read
from ctxtui.core.category import INDEX
from ctxtui.core.tree import Node, Tree
from ctxtui.dataclasses import dataclass

FILE, OUTPUT, RESULTS, BODIES, CALLS = "file", "output", "results", "bodies", "calls"
"""What a group is: readings of a file, a program's output, a tool's results, texts that a tool writes, a tool's
calls."""

_CALL, _RESULT = INDEX["tool_call"], INDEX["tool_result"]
_NEWEST: Final = 64
"""Blocks at the end of a context that are looked at first."""
_COMMANDS: Final = ("command", "cmd", "script")
_BEFORE: Final = re.compile(r"\s*(?:cd\s+[^;&|]+(?:&&|;)\s*|[A-Za-z_]\w*=\S*\s+|(?:sudo|env|time|timeout\s+\S+)\s+)*")
_PROGRAM: Final = re.compile(r"(?:[^\s;&|()'\"`$]*/)?([A-Za-z0-9_.+-]+)")
_WRITING: Final = re.compile(r"write|edit|patch|create|replace|insert|notebook", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class HeavyGroup:
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
        self._names = Names(tree)
        self._reached = 1
        self._group = array("i")
        """By node: the number of its group, from 1; 0 where it is not learnt."""
        self._groups: list[tuple[str, str]] = []
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
            if here.category not in (_CALL, _RESULT) or self._of(node):
                continue
            key = self._key(here)
            number = self._numbers.get(key)
            if number is None:
                # The group first: whoever asks finds a number only when its group is there.
                self._groups.append(key)
                number = self._numbers[key] = len(self._groups)
            if node >= len(self._group):
                self._group.frombytes(bytes(self._group.itemsize * (len(self._tree) - len(self._group))))
            self._group[node] = number
            self._learnt += 1

    def _of(self, node: int) -> int:
        """The number of the group of a node; 0 where it is not learnt."""
        return self._group[node] if node < len(self._group) else 0

    def of(self, path: Sequence[int], tokens: Callable[[int], int]) -> list[HeavyGroup] | None:
        """The groups on a `path`, the heaviest first; None while a block of it is not learnt. `tokens` gives what the
        model reads of a block."""
        found: dict[tuple[int, str, str], list[tuple[int, int]]] = {}
        # The newest are learnt last: where they are not, the others need not be gone through.
        if any(not self._of(node) and self._tree[node].category in (_CALL, _RESULT) for node in path[-_NEWEST:]):
            return None
        for node in path:
            here = self._tree[node]
            if here.category in (_CALL, _RESULT) and (size := tokens(node)) > 0:
                number = self._of(node)
                if not number:
                    return None
                found.setdefault((here.category, *self._groups[number - 1]), []).append((size, node))
        made = [
            HeavyGroup(category, name, what, sum(size for size, _ in some), len(some), max(some)[1])
            for (category, name, what), some in found.items()
        ]
        return sorted(made, key=lambda group: (-group.tokens, group.node))

    def _key(self, node: Node) -> tuple[str, str]:
        got = read(node.block)
        if node.category == _CALL:
            return (got.name, BODIES if _WRITING.search(got.name) else CALLS)
        call = self._names.call(got.call_id or self._names.answered(node), node.id)
        if call is None:
            return (got.name or "tool", RESULTS)
        touched = next(iter(touches(call, self._cwd)), None)
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
