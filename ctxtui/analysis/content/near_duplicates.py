"""Sketches of texts: sets of line hashes by which nearly equal texts, and texts within texts, are found quickly."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

LEAST: Final = 200
"""Characters from which a text is worth comparing."""
_ALL: Final = 64
"""Lines up to which every line is kept; of longer texts one in `_SAMPLED`."""
_SAMPLED: Final = 4
_SHORTEST: Final = 12
"""Characters from which a line tells anything."""
STEP: Final = 1 << 16
"""Characters that are looked through at once: a regular expression holds up every other thread until it is done."""
_NUMBERED: Final = re.compile(r"^[ \t]*\d+(?:→|\t)", re.MULTILINE)
_ENDS: Final = re.compile(r"(?<=[.;,{}>])\s*")


class Sketch(NamedTuple):
    """The hashes of a text's lines: all, or where `sampled` those that are divisible by `_SAMPLED`."""

    hashes: frozenset[int]
    sampled: bool

    def common(self, other: Sketch) -> tuple[int, int, int]:
        """How many hashes both have, and how many each has, of those that both could have."""
        mine, theirs = self.hashes, other.hashes
        if self.sampled != other.sampled:
            if self.sampled:
                theirs = frozenset(h for h in theirs if h % _SAMPLED == 0)
            else:
                mine = frozenset(h for h in mine if h % _SAMPLED == 0)
        return len(mine & theirs), len(mine), len(theirs)


def plain_lines(text: str) -> list[str]:
    """The telling lines of `text`, without the line numbers that clients put in front, blanks at their ends left out.
    A text of few long lines is cut after punctuation."""
    lines = [line for line in map(str.strip, _unnumbered(text).splitlines()) if len(line) >= _SHORTEST]
    if len(lines) < 4 < len(text) // 100:
        pieces = (piece for line in lines for piece in _cut(line))
        lines = [piece for piece in map(str.strip, pieces) if len(piece) >= _SHORTEST]
    return lines


def _unnumbered(text: str) -> str:
    """`text` less the numbers that its lines begin with."""
    if "\t" not in text and "→" not in text:
        return text
    if len(text) <= STEP:
        return _NUMBERED.sub("", text)
    begins = ((line, _NUMBERED.match(line)) for line in text.split("\n"))
    return "\n".join(line[found.end() :] if found else line for line, found in begins)


def _cut(line: str) -> Iterator[str]:
    """The pieces of `line` between its ends of sentences, `STEP` characters at a time; empty ones among them."""
    at = 0
    for begin in range(0, len(line), STEP):
        for found in _ENDS.finditer(line, begin, begin + STEP):
            yield line[at : found.start()]
            at = found.end()
    yield line[at:]


def sketch(text: str) -> Sketch | None:
    """The sketch of `text`; None where it is too short to tell."""
    if len(text) < LEAST:
        return None
    hashes = {zlib.crc32(line.encode("utf-8", "replace")) for line in plain_lines(text)}
    sampled = len(hashes) > _ALL
    if sampled:
        hashes = {one for one in hashes if one % _SAMPLED == 0}
    return Sketch(frozenset(hashes), sampled) if len(hashes) >= 3 else None


def contained(text: str, other: str) -> tuple[float, float]:
    """The share of the telling lines of each text (by characters) that occur in the other one, too: 0 to 1."""
    mine, theirs = plain_lines(text), plain_lines(other)
    return _share(mine, set(theirs)), _share(theirs, set(mine))


def _share(lines: Sequence[str], there: set[str]) -> float:
    whole = sum(map(len, lines))
    return sum(len(line) for line in lines if line in there) / whole if whole else 0.0
