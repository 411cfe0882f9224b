"""Dependence: later blocks that quote what an edit takes away (design §10).

A literal is a path, an id, a number or an error line of six or more characters. A block depends on another where it
says a literal of it that stood nowhere else before.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from heapq import nsmallest
from typing import Final, NamedTuple

from ctxtui.core.block import HEADER, Block
from ctxtui.core.block_content import BlockContent, arguments_value, read
from ctxtui.core.canonical import Json
from ctxtui.curation.apply.applied import Applied
from ctxtui.curation.context import Context

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
    """The literals that a block says or thinks, or gives a tool; `known` is what it says, where that was read."""
    if block.kind == HEADER:
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
    """Where each literal of a context stands. Made once, grown with the context; `advance` may be called in slices.
    What blocks say is not read again that `earlier` has read."""

    def __init__(self, context: Context, earlier: Literals | None = None) -> None:
        self._context = context
        self._done = 0
        self._of: list[frozenset[str]] = []
        self._places: dict[str, list[int]] = {}
        self._known: dict[str, frozenset[str]] = earlier._known if earlier is not None else {}
        self.repeated: set[str] = set()
        """Those that stand at two positions or more: the others quote nothing."""

    @property
    def count(self) -> int:
        """How many blocks have been read."""
        return self._done

    @property
    def complete(self) -> bool:
        """Whether every block has been read."""
        return self._done >= len(self._context)

    def advance(self, limit: int | None = None) -> bool:
        """Read up to `limit` further blocks; whether anything was left to read."""
        return self.advance_to(len(self._context) if limit is None else min(len(self._context), self._done + limit))

    def goes_on(self, context: Context) -> bool:
        """Whether they are those of `context`, which may have grown since."""
        return context is self._context

    def advance_to(self, last: int) -> bool:
        """As `advance`, up to position `last`, exclusive."""
        moved = last > self._done
        for position in range(self._done, last):
            found = self.said(self._context.items[position].block)
            self._of.append(found)
            for literal in found:
                places = self._places.setdefault(literal, [])
                places.append(position)
                if len(places) == 2:
                    self.repeated.add(literal)
        self._done = max(last, self._done)
        return moved

    def said(self, block: Block) -> frozenset[str]:
        """The literals of any block, also of one that stands in no context; read once."""
        found = self._known.get(block.digest)
        if found is None:
            content = self._context.derived.readings.get(block.digest)
            found = self._known[block.digest] = literals_of(block, content)
        return found

    def of(self, position: int) -> frozenset[str]:
        """The literals of the block at `position`."""
        return self._of[position] if position < self._done else frozenset()

    def places(self, literal: str) -> Sequence[int]:
        """The positions at which `literal` stands, in order."""
        return self._places.get(literal, ())

    def quoted_after(self, literal: str, position: int) -> int:
        """At how many positions behind `position` it stands."""
        places = self.places(literal)
        return len(places) - bisect_left(places, position + 1)


class Quote(NamedTuple):
    """A `literal` that goes with the block at `position`, and the later positions `by` that say it."""

    literal: str
    position: int
    by: tuple[int, ...]


def quotes(known: Literals, applied: Applied, most: int = 200) -> list[Quote]:
    """The literals that the edits take away and that later blocks which stay still say, the most quoted first.

    Not counted: what still stands in front of the one who quotes it, also in a summary that an edit put in.
    """
    new = {x for one in applied.inserts for item in one.items for x in known.said(item.block)}
    gone: dict[str, list[int]] = {}
    for position, change in sorted(applied.changes.items()):
        still = known.said(change.after) if change.after is not None else _NONE
        for literal in (known.of(position) & known.repeated) - still - new:
            gone.setdefault(literal, []).append(position)
    found = (quote for literal, places in gone.items() for quote in _quoting(literal, known.places(literal), places))
    return nsmallest(most, found, key=lambda one: (-len(one.by), one.position, one.literal))


def _quoting(literal: str, places: Sequence[int], gone: Sequence[int]) -> Iterator[Quote]:
    """The quotes of a literal that stands at `places` and is `gone` from some of them: it goes where nothing before
    says it any more, and is quoted wherever it still stands."""
    goes = sum(place == left for place, left in zip(places, gone, strict=False))
    stays = list(places)
    for place in reversed(gone):
        del stays[bisect_left(stays, place)]
    if stays:
        by = tuple(stays)
        yield from (Quote(literal, place, by) for place in gone[:goes])


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
    gone = (literal for literal in counts if literal not in summary)
    again = known.repeated
    found = (Lost(literal, known.quoted_after(literal, last) if literal in again else 0) for literal in gone)
    return nsmallest(most, found, key=lambda one: (-one.quoted, -counts[one.literal], one.literal))
