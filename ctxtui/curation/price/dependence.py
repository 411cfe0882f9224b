"""Finds later blocks that quote text which an edit removes.

Such blocks depend on the removed text: the model may need it again. A *literal* is a path, an id, a number or an error
line of 6 to 200 characters. A block depends on another if it contains one of its literals that occurred nowhere else
before.
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
from ctxtui.core.json_values import iter_strings
from ctxtui.curation.apply.applied import Applied
from ctxtui.curation.context import Context

MIN_LITERAL_CHARS: Final = 6
MAX_LITERAL_CHARS: Final = 200
"""Minimum and maximum characters of a literal."""

_WORD: Final = re.compile(r"[A-Za-z0-9_@~./:+-]{6,200}")
_TELLING: Final = re.compile(r"[0-9/_]|\w\.\w|\w-\w")
"""Signs by which a word is a path, an id or a number, not a word of a language."""
_ERROR: Final = re.compile(r"^.*\b(?:[Ee]rror|ERROR|[Ee]xception|FAILED|fatal|panic)\b.*$", re.MULTILINE)
_EDGES: Final = ".:/+-~@"
"""Punctuation that is cut off at the ends of a word; a leading ``/`` stays."""
_NONE: Final[frozenset[str]] = frozenset()


def literals(text: str) -> Iterator[str]:
    """The literals in `text`, in order, with repeats."""
    yield from filter(None, map(_literal, _WORD.findall(text)))
    for line in map(str.strip, _ERROR.findall(text)):
        if MIN_LITERAL_CHARS <= len(line) <= MAX_LITERAL_CHARS:
            yield line


@lru_cache(maxsize=32_768)
def _literal(word: str) -> str:
    bare = word.strip(_EDGES) if not word.startswith("/") else word.rstrip(_EDGES)
    return bare if len(bare) >= MIN_LITERAL_CHARS and _TELLING.search(bare) else ""


def literals_of(block: Block, content_read: BlockContent | None = None) -> frozenset[str]:
    """The literals in a block's text, thinking or tool input.

    `content_read` is its content if known.
    """
    if block.kind == HEADER:
        return frozenset()
    content = content_read or read(block)
    input_text = "\n".join(iter_strings(arguments_value(content))) if content.arguments else ""
    return frozenset(literals(f"{content.text}\n{input_text}" if input_text else content.text))


class Literals:
    """Index of the positions of each literal in a context.

    It grows with the context. Blocks that `earlier` has read are not read again.
    """

    def __init__(self, context: Context, earlier: Literals | None = None) -> None:
        self._context = context
        self._done = 0
        self._of: list[frozenset[str]] = []
        self._places: dict[str, list[int]] = {}
        self._known: dict[str, frozenset[str]] = earlier._known if earlier is not None else {}
        self.repeated: set[str] = set()
        """Literals at two positions or more: only these can be quotes."""

    @property
    def count(self) -> int:
        return self._done

    @property
    def is_complete(self) -> bool:
        return self._done >= len(self._context)

    def advance(self, limit: int | None = None) -> bool:
        """Read up to `limit` further blocks (None: all); returns whether it read any."""
        return self.advance_to(len(self._context) if limit is None else min(len(self._context), self._done + limit))

    def belongs_to(self, context: Context) -> bool:
        """Whether this is the index of `context`, which may have grown since."""
        return context is self._context

    def advance_to(self, last: int) -> bool:
        """Read the blocks before position `last`; returns whether it read any."""
        moved = last > self._done
        for position in range(self._done, last):
            block_literals = self.of_block(self._context.items[position].block)
            self._of.append(block_literals)
            for literal in block_literals:
                places = self._places.setdefault(literal, [])
                places.append(position)
                if len(places) == 2:
                    self.repeated.add(literal)
        self._done = max(last, self._done)
        return moved

    def of_block(self, block: Block) -> frozenset[str]:
        block_literals = self._known.get(block.digest)
        if block_literals is None:
            content = self._context.derived.readings.get(block.digest)
            block_literals = self._known[block.digest] = literals_of(block, content)
        return block_literals

    def literals_at(self, position: int) -> frozenset[str]:
        return self._of[position] if position < self._done else frozenset()

    def positions(self, literal: str) -> Sequence[int]:
        return self._places.get(literal, ())

    def quoted_after(self, literal: str, position: int) -> int:
        """Number of blocks after `position` that contain `literal`."""
        places = self.positions(literal)
        return len(places) - bisect_left(places, position + 1)


class Quote(NamedTuple):
    """A `literal` removed with the block at `position`, and positions `by` that quote it later."""

    literal: str
    position: int
    by: tuple[int, ...]


def find_quotes(literals_index: Literals, applied: Applied, limit: int = 200) -> list[Quote]:
    """Removed literals that remaining later blocks quote: the `limit` most quoted.

    A literal that remains in an earlier block, or that any inserted block contains, does not count.
    """
    new = {x for insert in applied.inserts for item in insert.items for x in literals_index.of_block(item.block)}
    removed_positions: dict[str, list[int]] = {}
    for position, change in sorted(applied.changes.items()):
        still = literals_index.of_block(change.after) if change.after is not None else _NONE
        for literal in (literals_index.literals_at(position) & literals_index.repeated) - still - new:
            removed_positions.setdefault(literal, []).append(position)
    quotes = (
        quote
        for literal, places in removed_positions.items()
        for quote in _find_quotes_of(literal, literals_index.positions(literal), places)
    )
    return nsmallest(limit, quotes, key=lambda quote: (-len(quote.by), quote.position, quote.literal))


def _find_quotes_of(literal: str, places: Sequence[int], removed: Sequence[int]) -> Iterator[Quote]:
    """The quotes of a literal that is removed from some of its `places`.

    It is lost where no earlier block contains it any more. It is quoted by every later block that remains.
    """
    goes = sum(place == left for place, left in zip(places, removed, strict=False))
    stays = list(places)
    for place in reversed(removed):
        del stays[bisect_left(stays, place)]
    if stays:
        by = tuple(stays)
        yield from (Quote(literal, place, by) for place in removed[:goes])


_MAX_LOST_LITERALS: Final = 100


class Lost(NamedTuple):
    """A literal that a summary lacks, and the number of later blocks that quote it."""

    literal: str
    quoted: int


def find_lost(literals_index: Literals, covered: Iterable[int], summary: str) -> list[Lost]:
    """Literals of the blocks at `covered` that `summary` lacks, the most quoted first.

    Equally quoted ones are sorted by frequency. At most `_MAX_LOST_LITERALS` are returned.
    """
    covered_positions = set(covered)
    counts: dict[str, int] = {}
    for position in covered_positions:
        for literal in literals_index.literals_at(position):
            counts[literal] = counts.get(literal, 0) + 1
    last = max(covered_positions, default=0)
    missing = (literal for literal in counts if literal not in summary)
    repeated = literals_index.repeated
    lost_literals = (
        Lost(literal, literals_index.quoted_after(literal, last) if literal in repeated else 0) for literal in missing
    )
    return nsmallest(
        _MAX_LOST_LITERALS, lost_literals, key=lambda lost: (-lost.quoted, -counts[lost.literal], lost.literal)
    )
