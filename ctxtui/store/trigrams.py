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
_FIRST: Final = "\t\n" + "".join(map(chr, range(32, 127)))
"""Characters that have the lowest numbers, since nearly every text has them."""
_COMMON: Final = 128
"""Numbers below are those of common characters: of so many, each sequence has a mark of its own (2 MB)."""
_FEW_BITS, _BITS = 10, 21
"""Bits of another character's number: three numbers of so few fit into 32 bits, which are sorted in half the time."""


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
    """Numbers of characters, given as they are met: those that are spelled alike in terms have one number. Sequences of
    common characters are found by their marks, all others by sorting, which takes six times as long on one processor as
    on another."""

    def __init__(self, numpy: ModuleType) -> None:
        self._np = numpy
        self._seen: NDArray[Any] = numpy.zeros(_COMMON**3, numpy.bool_)
        """The marks of sequences of common characters; between two texts none is set."""
        self._begin()

    def _begin(self) -> None:
        np = self._np
        self._numbers: NDArray[Any] = np.zeros(_CHARACTERS, np.uint32)
        self._common: NDArray[Any] = np.zeros(_CHARACTERS, np.intp)
        """The numbers of common characters, 0 of others."""
        self._points = [0]
        """The character of each number; no character has the number 0."""
        self._learn(np.frombuffer(_FIRST.encode("utf-32-le"), np.uint32))

    def terms(self, words: str) -> str | None:
        """The terms of `words`; None where a character is spelled with several in them."""
        np = self._np
        data, unit = words.encode("utf-16-le", "surrogatepass"), np.uint16
        if len(data) != 2 * len(words):
            data, unit = words.encode("utf-32-le", "surrogatepass"), np.uint32
        units = np.frombuffer(data, unit)
        # No unit lies outside: what is done with those that do takes half of the time unless they wrap.
        line = self._common.take(units, mode="wrap")
        if line.all():
            return self._told(self._of_common(line))
        numbers = self._known(units)
        if numbers is None:
            return None
        other = numbers >= _COMMON
        if 2 * np.count_nonzero(other) > len(other):
            return self._told(self._sorted(numbers))
        found = self._of_common(self._common.take(units, mode="wrap"))
        return self._told(found[:, found.all(axis=0)], self._sorted(numbers, other[:-2] | other[1:-1] | other[2:]))

    def _known(self, units: NDArray[Any]) -> NDArray[Any] | None:
        """The number of each character; None where one of them cannot have one."""
        numbers = self._numbers.take(units, mode="wrap")
        if numbers.all():
            return numbers
        if not self._learn(units[numbers == 0]):
            return None
        if len(self._points) > 1 << _FEW_BITS:
            # Perhaps this text alone has fewer.
            self._begin()
            self._learn(units)
        return self._numbers.take(units, mode="wrap")

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
        numbers = [known[ord(one)] for one in spelled]
        self._numbers[kinds] = numbers
        self._common[kinds] = [number if number < _COMMON else 0 for number in numbers]
        return True

    def _of_common(self, line: NDArray[Any]) -> NDArray[Any]:
        """The sequences in a line of common numbers, each once, as three rows of numbers; other characters are 0."""
        np, base = self._np, min(len(self._points), _COMMON)
        found = line[:-1] * base
        found += line[1:]
        found = found[:-1] * base
        found += line[2:]
        self._seen[found] = True
        # Most marks are not set: eight of them are looked at together.
        eights = self._seen[: base**3 + 7 & ~7].view(np.uint64)
        which = np.flatnonzero(eights != 0)
        at = np.flatnonzero(eights[which].view(np.bool_))
        eights[which] = 0
        found = (which[at >> 3] << 3) + (at & 7)
        digits: NDArray[Any] = np.stack((found // base**2, found // base % base, found % base))
        return digits

    def _sorted(self, numbers: NDArray[Any], wanted: NDArray[Any] | slice = slice(None)) -> NDArray[Any]:
        """The sequences at places that are `wanted` in a line of numbers, each once, as three rows of numbers."""
        np, bits = self._np, _FEW_BITS
        if len(self._points) > 1 << bits:
            bits, numbers = _BITS, numbers.astype(np.uint64)
        found = numbers[:-1] << bits
        found |= numbers[1:]
        found = found[:-1] << bits
        found |= numbers[2:]
        found = found[wanted]
        found.sort()
        first = np.ones(len(found), np.bool_)
        np.not_equal(found[1:], found[:-1], out=first[1:])
        found = found[first]
        one = (1 << bits) - 1
        digits: NDArray[Any] = np.stack((found >> 2 * bits, found >> bits & one, found & one))
        return digits

    def _told(self, *found: NDArray[Any]) -> str:
        """Sequences of numbers, spelled."""
        np = self._np
        points = np.array(self._points, np.uint32)
        told = np.full((sum(one.shape[1] for one in found), 4), ord(_APART), np.uint32)
        at = 0
        for one in found:
            told[at : at + one.shape[1], :3] = points[one].T
            at += one.shape[1]
        return bytes(told).decode("utf-32-le")


@cache
def _spelled(character: str) -> str:
    return folded(character).translate(_BLANKS)
