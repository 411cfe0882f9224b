"""What the large categories of a context are made of: the blocks of one file, one program or one tool as a group."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple, overload

from ctxtui.analysis.content.file_accesses import touches
from ctxtui.analysis.short_names import Names
from ctxtui.core.block_content import BlockContent, arguments_value, read
from ctxtui.core.category import INDEX
from ctxtui.core.tree import Node, Tree
from ctxtui.dataclasses import dataclass

FILE, OUTPUT, RESULTS, BODIES, CALLS = "file", "output", "results", "bodies", "calls"
"""What a group is: readings of a file, a program's output, a tool's results, texts that a tool writes, a tool's
calls."""

_WHATS: Final = (FILE, OUTPUT, RESULTS, BODIES, CALLS)
_OF_CALLS: Final = frozenset({_WHATS.index(BODIES), _WHATS.index(CALLS)})
"""The others are of results."""

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


class KeptGroups(NamedTuple):
    """The groups of a session in plain values: up to which node its blocks are learnt and how many are, the group of
    each node, the names of groups one behind the other and where each ends, and what each is."""

    reached: int
    learnt: int
    of: bytes
    names: bytes
    ends: bytes
    whats: bytes


class _Named:
    """Groups by number, from 1. A session may have one for each call: their names stand one behind the other."""

    def __init__(self, names: bytes = b"", ends: bytes = b"", whats: bytes = b"") -> None:
        self.names, self.ends, self.whats = bytearray(names), array("Q", ends), bytearray(whats)

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, number: int) -> tuple[str, int]:
        at = number - 1
        raw = self.names[self.ends[at - 1] if at else 0 : self.ends[at]]
        return raw.decode("utf-8", "surrogatepass"), self.whats[at]

    def append(self, name: str, what: int) -> int:
        """One more; its number."""
        self.names += name.encode("utf-8", "surrogatepass")
        self.whats.append(what)
        # Last of all: whoever asks finds a group when its name is there.
        self.ends.append(len(self.names))
        return len(self.ends)


class HeavyGroups:
    """Groups calls and results of contexts in one session. One thread learns; any may ask."""

    def __init__(self, tree: Tree, cwd: str = "") -> None:
        self._tree = tree
        self._cwd = cwd
        self._names: Names | None = None
        self._reached = 1
        self._group = array("i")
        """By node: the number of its group, from 1; 0 where it is not learnt."""
        self._groups = _Named()
        self._numbers: dict[tuple[str, int], int] = {}
        self._learnt = 0

    def kept(self) -> KeptGroups:
        """All that is learnt."""
        named = self._groups
        return KeptGroups(
            self._reached,
            self._learnt,
            self._group.tobytes(),
            bytes(named.names),
            named.ends.tobytes(),
            bytes(named.whats),
        )

    def take_over(self, kept: KeptGroups) -> None:
        """Go on from what `kept` gave of the same tree."""
        self._reached, self._learnt = kept.reached, kept.learnt
        self._groups, self._group = _Named(kept.names, kept.ends, kept.whats), array("i", kept.of)

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
        numbers = self._numbers
        for node in path:
            here = self._tree[node]
            if here.category not in (_CALL, _RESULT) or self._of(node):
                continue
            key = self._key(here)
            if len(numbers) < len(self._groups):
                numbers.update({self._groups[number]: number for number in range(1, len(self._groups) + 1)})
            number = numbers.get(key)
            if number is None:
                # The group first: whoever asks finds a number only when its group is there.
                number = numbers[key] = self._groups.append(*key)
            if node >= len(self._group):
                self._group.frombytes(bytes(self._group.itemsize * (len(self._tree) - len(self._group))))
            self._group[node] = number
            self._learnt += 1

    def _of(self, node: int) -> int:
        """The number of the group of a node; 0 where it is not learnt."""
        return self._group[node] if node < len(self._group) else 0

    def of(self, path: Sequence[int], tokens: Callable[[int], int]) -> Sequence[HeavyGroup] | None:
        """The groups on a `path`, the heaviest first; None while a block of it is not learnt. `tokens` gives what the
        model reads of a block."""
        # The newest are learnt last: where they are not, the others need not be gone through.
        if any(not self._of(node) and self._tree[node].category in (_CALL, _RESULT) for node in path[-_NEWEST:]):
            return None
        sums: dict[int, int] = {}
        counts: dict[int, int] = {}
        heaviest: dict[int, tuple[int, int]] = {}
        for node in path:
            number = self._of(node)
            if number:
                if (size := tokens(node)) > 0:
                    sums[number] = sums.get(number, 0) + size
                    counts[number] = counts.get(number, 0) + 1
                    heaviest[number] = max(heaviest.get(number, (0, 0)), (size, node))
            elif node >= self._reached and self._tree[node].category in (_CALL, _RESULT) and tokens(node) > 0:
                return None
        order = sorted(sums, key=lambda number: (-sums[number], heaviest[number][1]))
        return _Heaviest(
            self._groups,
            order,
            tokens=array("q", [sums[number] for number in order]),
            counts=array("q", [counts[number] for number in order]),
            nodes=array("q", [heaviest[number][1] for number in order]),
        )

    def _key(self, node: Node) -> tuple[str, int]:
        """The name of a node's group, and which of `_WHATS` it is."""
        name, what = self._named(node)
        return name, _WHATS.index(what)

    def _named(self, node: Node) -> tuple[str, str]:
        got = read(node.block)
        if node.category == _CALL:
            return (got.name, BODIES if _WRITING.search(got.name) else CALLS)
        names = self._names = self._names or Names(self._tree)
        call = names.call(got.call_id or names.answered(node), node.id)
        if call is None:
            return (got.name or "tool", RESULTS)
        touched = next(iter(touches(call, self._cwd)), None)
        if touched is not None and touched.kind == "read":
            return (touched.path, FILE)
        program = _program(call)
        return (program, OUTPUT) if program else (call.name, RESULTS)


class _Heaviest(Sequence[HeavyGroup]):
    """Groups in order, each made when it is asked for: of thousands a few are named."""

    def __init__(
        self, named: _Named, order: Sequence[int], *, tokens: Sequence[int], counts: Sequence[int], nodes: Sequence[int]
    ) -> None:
        self._named = named
        self._order = array("i", order)
        self._tokens, self._counts, self._nodes = tokens, counts, nodes

    def __len__(self) -> int:
        return len(self._order)

    def __iter__(self) -> Iterator[HeavyGroup]:
        return map(self._made, range(len(self)))

    @overload
    def __getitem__(self, at: int) -> HeavyGroup: ...

    @overload
    def __getitem__(self, at: slice) -> list[HeavyGroup]: ...

    def __getitem__(self, at: int | slice) -> HeavyGroup | list[HeavyGroup]:
        places = range(len(self))[at]
        return list(map(self._made, places)) if isinstance(places, range) else self._made(places)

    def _made(self, at: int) -> HeavyGroup:
        name, what = self._named[self._order[at]]
        category = _CALL if what in _OF_CALLS else _RESULT
        return HeavyGroup(category, name, _WHATS[what], self._tokens[at], self._counts[at], self._nodes[at])


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
