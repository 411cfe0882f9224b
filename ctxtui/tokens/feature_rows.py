"""Compositions of many contexts, packed: a context shares with the one before it everything that its last block did not
change, and numbers stand in arrays. A tuple of features for each node takes three times as much memory.

Of many that another run or process has made, full pieces stay packed.
"""

from __future__ import annotations

import sys
import zlib
from array import array
from collections.abc import Iterable, Sequence
from struct import Struct
from typing import Any, Final

from ctxtui.core.category import CATEGORIES
from ctxtui.tokens.features import NOTHING, Features, plus

Composition = tuple[Features, ...]
"""Raw features of a context, one entry per category in the order of `CATEGORIES`."""

_KINDS: Final = len(CATEGORIES)
_WIDTH: Final = len(NOTHING)
_ROW: Final = Struct(f"{_WIDTH}d")
_pack: Final = _ROW.pack
_RECENT: Final = 4096
"""Rows that are kept unpacked: a screen asks for those of one context many times."""

_PIECE: Final = 256
"""Rows that are packed together, and unpacked for one of them."""
_MANY: Final = 64
"""Pieces from which on they stay packed."""
_UNPACKED: Final = 32
"""Pieces that are kept unpacked: one goes through contexts in order, and each has rows in a few places."""
_LEVEL: Final = 1


class _Numbers:
    """Rows of `width` numbers each, `since` those that are not packed: they come after the others."""

    def __init__(self, code: str, width: int) -> None:
        self._row = Struct(f"{width}{code}")
        self._width = width
        self._pieces: list[bytes] = []
        self._before = 0
        self._opened: dict[int, bytes] = {}
        self.since: array[Any] = array(code, bytes(self._row.size))

    def __len__(self) -> int:
        return self._before + len(self.since) // self._width

    def row(self, number: int) -> tuple[Any, ...]:
        """The numbers of a row."""
        at = number - self._before
        if at >= 0:
            return self._row.unpack_from(self.since, at * self._row.size)
        return self._row.unpack_from(self._piece(number // _PIECE), number % _PIECE * self._row.size)

    def copy(self, number: int) -> array[Any]:
        """As `row`, to be changed."""
        start = (number - self._before) * self._width
        return self.since[start : start + self._width] if start >= 0 else array(self.since.typecode, self.row(number))

    def one(self, number: int, column: int) -> Any:
        """As `row`, one of its numbers."""
        at = number - self._before
        return self.since[at * self._width + column] if at >= 0 else self.row(number)[column]

    def _piece(self, number: int) -> bytes:
        found = self._opened.get(number)
        if found is None:
            # Two threads may both unpack one: nothing is wrong then.
            kept = list(self._opened.items())[1 - _UNPACKED :]
            found = zlib.decompress(self._pieces[number])
            self._opened = {**dict(kept), number: found}
        return found

    def packed(self) -> list[bytes]:
        """All of them, some at a time."""
        size = _PIECE * self._row.size
        with memoryview(self.since).cast("B") as since:
            later = [zlib.compress(since[at : at + size], _LEVEL) for at in range(0, len(since), size)]
        return [*self._pieces, *later]

    def take(self, pieces: Sequence[bytes]) -> None:
        """Be what `packed` gave."""
        full = len(pieces) - 1 if len(pieces) >= _MANY else 0
        self._pieces, self._before = list(pieces[:full]), full * _PIECE
        self.since = array(self.since.typecode, b"".join(map(zlib.decompress, pieces[full:])))


class FeatureRows:
    """The compositions of contexts by number, from 0 (the empty one) on. They are only appended, so that one thread may
    add while others read; `put` names another composition for a context that is there."""

    def __init__(self) -> None:
        self._of = array("i", [0])
        """The composition of each context."""
        self._rows = _Numbers("i", _KINDS)
        """The row of each category in each composition."""
        self._values = _Numbers("d", _WIDTH)
        self._recent: dict[int, Features] = {0: NOTHING}

    def __len__(self) -> int:
        return len(self._of)

    def same(self, as_: int) -> None:
        """One context more, with the composition of the context `as_`."""
        self._of.append(self._of[as_])

    def add(self, before: int, more: Iterable[tuple[int, Features]]) -> None:
        """One context more: that of `before` and `more`, one after another, each with its category index."""
        self._of.append(self._made(before, more))

    def put(self, number: int, before: int, more: Iterable[tuple[int, Features]]) -> None:
        """As `add`, in place of the context `number`."""
        self._of[number] = self._made(before, more)

    def put_same(self, number: int, as_: int) -> None:
        """As `same`, in place of the context `number`."""
        self._of[number] = self._of[as_]

    def _made(self, before: int, more: Iterable[tuple[int, Features]]) -> int:
        rows, recent, values = self._rows.copy(self._of[before]), self._recent, self._values
        for category, own in more:
            row = rows[category]
            grown = plus(recent.get(row) or self._row(row), own)
            rows[category] = row = len(values)
            values.since.frombytes(_pack(*grown))
            recent[row] = grown
        if len(recent) >= _RECENT:
            self._recent = {}
        self._rows.since.extend(rows)
        return len(self._rows) - 1

    def _row(self, row: int) -> Features:
        found = self._recent.get(row)
        if found is None:
            found = tuple.__new__(Features, self._values.row(row))
            self._keep(row, found)
        return found

    def _keep(self, row: int, features: Features) -> None:
        if len(self._recent) >= _RECENT:
            self._recent = {}
        self._recent[row] = features

    def at(self, number: int) -> Composition:
        """The composition of a context. Raises `IndexError` for one that is not there."""
        return tuple([self._row(row) for row in self.rows_at(number)])

    def of(self, number: int, category: int) -> Features:
        """As `at`, of one category alone."""
        return self._row(self.row_at(number, category))

    def rows_at(self, number: int) -> Sequence[int]:
        """The row of each category in a context; a row never changes."""
        return self._rows.row(self._of[number])

    def row_at(self, number: int, category: int) -> int:
        """As `rows_at`, of one category alone."""
        found: int = self._rows.one(self._of[number], category)
        return found

    def values(self, row: int) -> Sequence[float]:
        """The features of a row, for who keeps what they come to: no row is unpacked for them to stay."""
        return self._recent.get(row) or self._values.row(row)

    def packed(self) -> tuple[str, bytes, list[bytes], list[bytes]]:
        """All of it as bytes, with the way in which this machine writes numbers."""
        return _WAY, self._of.tobytes(), self._rows.packed(), self._values.packed()

    def packed_of(self, numbers: Iterable[int]) -> tuple[str, bytes, list[bytes], list[bytes]]:
        """As `packed`, of the empty context and those of `numbers` alone, numbered anew in their order."""
        way, _, rows, values = self.packed()
        return way, array("i", [self._of[number] for number in (0, *numbers)]).tobytes(), rows, values

    @classmethod
    def unpacked(cls, packed: Any) -> FeatureRows:
        """What `packed` gave. Raises `ValueError` for anything else."""
        way, *parts = packed
        if way != _WAY:
            raise ValueError("written on another machine")
        found = cls()
        of, rows, values = parts
        found._of = array("i", of)
        found._rows.take(rows)
        found._values.take(values)
        return found


_WAY: Final = f"{sys.byteorder} {array('i').itemsize} {array('d').itemsize} {_KINDS} {_WIDTH}"
