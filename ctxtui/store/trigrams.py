"""Sequences of three characters of a text, each once: the terms of the full-text index. Case says nothing in them.

SQLite's own trigram tokenizer looks up every sequence of a text, ten to fifty times as many as differ. Here they are
found all together, by numpy, and SQLite is given each once.
"""

from __future__ import annotations

import re
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from numpy.typing import NDArray

_NOT_INDEXED: Final = re.compile("[\ud800-\udfff\x00]")
"""What UTF-8 cannot hold, and what ends a text for SQLite."""
_APART: Final = " "
"""Stands between two terms."""
_BLANKS: Final = str.maketrans({**{code: chr(0x2400 + code) for code in range(1, 33)}, 127: "\u2421"})
"""Blanks and control characters inside a term, which would end it, as Unicode's pictures of them: a space is ``␠``."""
_CHARACTERS: Final = 0x110000
_FEW_BITS, _BITS = 10, 21
"""Bits of a character's number: three numbers of so few fit into 32 bits, which are sorted in half the time."""


def folded(words: str) -> str:
    """`words` as they are indexed and asked for: case says nothing."""
    return _NOT_INDEXED.sub(" ", words).casefold().replace("ı", "i")


def terms_of(words: str) -> list[str]:
    """The terms of `words`, in their order."""
    known = folded(words).translate(_BLANKS)
    return list(dict.fromkeys(known[at : at + 3] for at in range(len(known) - 2)))


class IndexTexts:
    """Makes of texts what SQLite takes their terms from; remembers the characters that it met. For one thread."""

    def __init__(self) -> None:
        try:
            import numpy
        except ImportError:
            # There is no wheel for this machine.
            self._alphabet = None
        else:
            self._alphabet = _Alphabet(numpy)

    def of(self, words: str) -> str:
        """The terms of `words`, each once, in any order."""
        told = None
        if self._alphabet is not None:
            told = self._alphabet.terms(words)
            if told is None:
                told = self._alphabet.terms(folded(words))
        return _APART.join(terms_of(words)) if told is None else told


class _Alphabet:
    """Numbers of characters, given as they are met: those that are spelled alike in terms have one number."""

    def __init__(self, numpy: ModuleType) -> None:
        self._np = numpy
        self._begin()

    def _begin(self) -> None:
        self._numbers: NDArray[Any] = self._np.zeros(_CHARACTERS, self._np.uint32)
        self._points = [0]
        """The character of each number; no character has the number 0."""

    def terms(self, words: str) -> str | None:
        """The terms of `words`; None where a character is spelled with several in them."""
        np = self._np
        data, unit = words.encode("utf-16-le", "surrogatepass"), np.uint16
        if len(data) != 2 * len(words):
            data, unit = words.encode("utf-32-le", "surrogatepass"), np.uint32
        units = np.frombuffer(data, unit)
        line = self._line(units)
        if line is None:
            return None
        bits = _FEW_BITS
        if len(self._points) > 1 << bits:
            bits, line = _BITS, line.astype(np.uint64)
        found = line[:-1] << bits
        found |= line[1:]
        found = found[:-1] << bits
        found |= line[2:]
        found.sort()
        first = np.ones(len(found), np.bool_)
        np.not_equal(found[1:], found[:-1], out=first[1:])
        return self._told(found[first], bits)

    def _line(self, units: NDArray[Any]) -> NDArray[Any] | None:
        """The number of each character; None where one of them has none."""
        # No unit lies outside: what is done with those that do takes half of the time unless they wrap.
        line = self._numbers.take(units, mode="wrap")
        if line.all():
            return line
        if not self._learn(units[line == 0]):
            return None
        if len(self._points) > 1 << _FEW_BITS:
            # Perhaps this text alone has fewer.
            self._begin()
            self._learn(units)
        return self._numbers.take(units)

    def _learn(self, units: NDArray[Any]) -> bool:
        """Give numbers to new characters; False where one of them cannot have one."""
        # As `unique` gives them, which loads a third of numpy first.
        kinds = self._np.flatnonzero(self._np.bincount(units)).tolist()
        spelled = [_spelled(chr(kind)) for kind in kinds]
        if any(len(one) != 1 for one in spelled):
            return False
        known = {point: number for number, point in enumerate(self._points)}
        for one in map(ord, spelled):
            if known.setdefault(one, len(self._points)) == len(self._points):
                self._points.append(one)
        self._numbers[kinds] = [known[ord(one)] for one in spelled]
        return True

    def _told(self, found: NDArray[Any], bits: int) -> str:
        np = self._np
        points = np.array(self._points, np.uint32)
        told = np.full((len(found), 4), ord(_APART), np.uint32)
        for at in range(3):
            told[:, at] = points[found >> bits * (2 - at) & (1 << bits) - 1]
        return bytes(told).decode("utf-32-le")


@cache
def _spelled(character: str) -> str:
    return folded(character).translate(_BLANKS)
