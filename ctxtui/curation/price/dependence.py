"""Dependence: later blocks that quote what an edit takes away (design §10).

A literal is a path, an id, a number or an error line of six or more characters. A block depends on another where it
says a literal of it that stood nowhere else before.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import takewhile
from typing import Final, NamedTuple

from ctxtui.core.block import HEADER, Block
from ctxtui.core.block_content import BlockContent, arguments_value, read
from ctxtui.core.canonical import Json
from ctxtui.curation.apply.applied import Applied
from ctxtui.curation.context import THINKING, Context

SHORTEST: Final = 6
LONGEST: Final = 200
"""Characters of a literal, at least and at most."""

_WORD: Final = re.compile(r"[A-Za-z0-9_@~./:+-]{6,200}")
_TELLING: Final = re.compile(r"[0-9/_]|\w\.\w|\w-\w")
_ERROR: Final = re.compile(r"^.*\b(?:[Ee]rror|ERROR|[Ee]xception|FAILED|fatal|panic)\b.*$", re.MULTILINE)
_EDGES: Final = ".:/+-~@"
_NONE: Final[frozenset[str]] = frozenset()


def literals(text: str) -> Iterator[str]:
    """The literals in `text`, in order, with repeats."""
    yield from filter(None, map(_literal, _WORD.findall(text)))
    for line in map(str.strip, _ERROR.findall(text)):
        if SHORTEST <= len(line) <= LONGEST:
            yield line


@lru_cache(maxsize=32_768)
def _literal(word: str) -> str:
    """The literal that a word of a text is, "" where it is none. Most words of a conversation come again and again."""
    bare = word.strip(_EDGES) if not word.startswith("/") else word.rstrip(_EDGES)
    return bare if len(bare) >= SHORTEST and _TELLING.search(bare) else ""


def literals_of(block: Block, known: BlockContent | None = None) -> frozenset[str]:
    """The literals that a block says, or gives a tool; `known` is what it says, where that was read already."""
    if block.kind == HEADER or block.kind in THINKING:
        return frozenset()
    got = known or read(block)
    given = "\n".join(_strings(arguments_value(got))) if got.arguments else ""
    return frozenset(literals(f"{got.text}\n{given}" if given else got.text))


def _strings(value: Json) -> Iterator[str]:
    """Every string in a call's input; its members' names are the tool's words, not the conversation's."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings(item)


class Literals:
    """Where each literal of a context stands. Made once, grown with the context; `advance` may be called in slices."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._done = 0
        self._of: list[frozenset[str]] = []
        self._places: dict[str, list[int]] = {}
        self._known: dict[str, frozenset[str]] = {}

    @property
    def complete(self) -> bool:
        """Whether every block has been read."""
        return self._done >= len(self._context)

    def advance(self, limit: int | None = None) -> bool:
        """Read up to `limit` further blocks; whether anything was left to read."""
        last = len(self._context) if limit is None else min(len(self._context), self._done + limit)
        moved = last > self._done
        for position in range(self._done, last):
            found = self.said(self._context.items[position].block)
            self._of.append(found)
            for literal in found:
                self._places.setdefault(literal, []).append(position)
        self._done = last
        return moved

    def said(self, block: Block) -> frozenset[str]:
        """The literals of any block, also of one that stands in no context; read once."""
        found = self._known.get(block.digest)
        if found is None:
            content = self._context.said.readings.get(block.digest)
            found = self._known[block.digest] = literals_of(block, content)
        return found

    def of(self, position: int) -> frozenset[str]:
        """The literals of the block at `position`."""
        return self._of[position] if position < self._done else frozenset()

    def after(self, literal: str, position: int) -> Sequence[int]:
        """The positions behind `position` at which `literal` stands."""
        places = self._places.get(literal, [])
        return places[bisect_left(places, position + 1) :]

    def before(self, literal: str, position: int) -> Iterator[int]:
        """The positions in front of `position` at which `literal` stands."""
        return takewhile(position.__gt__, self._places.get(literal, ()))

    def is_quoted(self, literal: str, position: int) -> bool:
        """Whether `literal` stands anywhere behind `position`."""
        places = self._places.get(literal)
        return places is not None and places[-1] > position


class Quote(NamedTuple):
    """A `literal` that goes with the block at `position`, and the later positions `by` that say it."""

    literal: str
    position: int
    by: tuple[int, ...]


def quotes(known: Literals, applied: Applied, most: int = 200) -> list[Quote]:
    """The literals that the edits take away and that later blocks which stay still say, the most quoted first.

    Not counted: what still stands in front of the one who quotes it, also in a summary that an edit put in.
    """
    new = frozenset(x for one in applied.inserts for item in one.items for x in known.said(item.block))
    still = {at: known.said(one.after) if one.after is not None else _NONE for at, one in applied.changes.items()}
    found: list[Quote] = []
    for position in sorted(still):
        for literal in known.of(position) - still[position] - new:
            quoting = _quoting(known, still, literal, position)
            if quoting:
                found.append(Quote(literal, position, tuple(quoting)))
    found.sort(key=lambda one: (-len(one.by), one.position, one.literal))
    return found[:most]


_Still = Mapping[int, frozenset[str]]
"""The literals that the blocks which the edits change say after them, by position."""


def _quoting(known: Literals, still: _Still, literal: str, position: int) -> list[int]:
    if not known.is_quoted(literal, position) or _stands(known.before(literal, position), still, literal):
        return []
    return [later for later in known.after(literal, position) if later not in still or literal in still[later]]


def _stands(places: Iterable[int], still: _Still, literal: str) -> bool:
    """Whether `literal` still stands at one of `places`."""
    return any(place not in still or literal in still[place] for place in places)


class Lost(NamedTuple):
    """A literal that a summary does not say, and how many later blocks quote it."""

    literal: str
    quoted: int


def lost(known: Literals, covered: Iterable[int], summary: str, most: int = 100) -> list[Lost]:
    """The literals of the blocks at `covered` that `summary` does not say, those that are quoted later first, then by
    how often they stood there."""
    inside = set(covered)
    counts: dict[str, int] = {}
    for position in inside:
        for literal in known.of(position):
            counts[literal] = counts.get(literal, 0) + 1
    last = max(inside, default=0)
    gone = {literal: count for literal, count in counts.items() if literal not in summary}
    found = [(Lost(literal, len(known.after(literal, last))), count) for literal, count in gone.items()]
    found.sort(key=lambda pair: (-pair[0].quoted, -pair[1], pair[0].literal))
    return [one for one, _ in found[:most]]
