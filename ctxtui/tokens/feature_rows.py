"""Compositions of many contexts, packed: a context shares with the one before it everything that its last block did not
change, and numbers stand in arrays. A tuple of features for each node takes three times as much memory."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Sequence
from itertools import chain
from struct import Struct
from types import ModuleType
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


class FeatureRows:
    """The compositions of contexts by number, from 0 (the empty one) on. They are only appended, so that one thread may
    add while others read; `put` names another composition for a context that is there."""

    def __init__(self) -> None:
        self._of = array("i", [0])
        """The composition of each context."""
        self._rows = array("i", bytes(4 * _KINDS))
        """The row of each category in each composition."""
        self._values = array("d", NOTHING)
        self._recent: dict[int, Features] = {0: NOTHING}

    def __len__(self) -> int:
        return len(self._of)

    def same(self, as_: int) -> None:
        """One context more, with the composition of the context `as_`."""
        self._of.append(self._of[as_])

    def add(self, before: int, more: Iterable[tuple[int, Features]]) -> None:
        """One context more: that of `before` and `more`, one after another, each with its category index."""
        self._of.append(self._made(before, more))

    def grow_on(self, before: int, blocks: Sequence[tuple[int, Features]], numpy: ModuleType) -> int:
        """As `add` for each of `blocks` (its category index and features), each after the one before it, the first
        after the context `before`; gives the number of the first composition that they make. Sums are made block after
        block as there, all of a category at once."""
        categories = numpy.array([category for category, _ in blocks])
        values = numpy.fromiter(chain.from_iterable([own for _, own in blocks]), float, len(blocks) * _WIDTH)
        values = values.reshape(-1, _WIDTH)
        rows = numpy.empty((len(blocks), _KINDS), dtype=numpy.intc)
        rows[:] = self.rows_at(before)
        first = len(self._values) // _WIDTH
        for category in numpy.flatnonzero(numpy.bincount(categories)).tolist():
            of_it = numpy.flatnonzero(categories == category)
            known = numpy.array([self._row(int(rows[0, category]))])
            values[of_it] = numpy.add.accumulate(numpy.concatenate([known, values[of_it]]))[1:]
            # A composition has the newest row of each category: the one with the largest number.
            rows[of_it, category] = first + of_it
            numpy.maximum.accumulate(rows[:, category], out=rows[:, category])
        made = len(self._rows) // _KINDS
        self._values.frombytes(values.tobytes())
        self._rows.frombytes(rows.tobytes())
        return made

    def name(self, compositions: Iterable[int]) -> None:
        """One context more for each of `compositions`, which has this one."""
        self._of.extend(compositions)

    def composition(self, number: int) -> int:
        """Which composition a context has."""
        return self._of[number]

    def put(self, number: int, before: int, more: Iterable[tuple[int, Features]]) -> None:
        """As `add`, in place of the context `number`."""
        self._of[number] = self._made(before, more)

    def put_same(self, number: int, as_: int) -> None:
        """As `same`, in place of the context `number`."""
        self._of[number] = self._of[as_]

    def _made(self, before: int, more: Iterable[tuple[int, Features]]) -> int:
        start = self._of[before] * _KINDS
        rows, recent, values = self._rows[start : start + _KINDS], self._recent, self._values
        for category, own in more:
            row = rows[category]
            grown = plus(recent.get(row) or self._row(row), own)
            rows[category] = row = len(values) // _WIDTH
            values.frombytes(_pack(*grown))
            recent[row] = grown
        if len(recent) >= _RECENT:
            self._recent = {}
        self._rows.extend(rows)
        return len(self._rows) // _KINDS - 1

    def _row(self, row: int) -> Features:
        found = self._recent.get(row)
        if found is None:
            found = tuple.__new__(Features, _ROW.unpack_from(self._values, row * _ROW.size))
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
        start = self._of[number] * _KINDS
        return self._rows[start : start + _KINDS]

    def row_at(self, number: int, category: int) -> int:
        """As `rows_at`, of one category alone."""
        return self._rows[self._of[number] * _KINDS + category]

    def values(self, row: int) -> Sequence[float]:
        """The features of a row, for who keeps what they come to: no row is unpacked for them to stay."""
        return self._recent.get(row) or _ROW.unpack_from(self._values, row * _ROW.size)

    def packed(self) -> tuple[str, bytes, bytes, bytes]:
        """All of it as bytes, with the way in which this machine writes numbers."""
        return _WAY, self._of.tobytes(), self._rows.tobytes(), self._values.tobytes()

    def packed_of(self, numbers: Iterable[int]) -> tuple[str, bytes, bytes, bytes]:
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
        found._of, found._rows, found._values = array("i", of), array("i", rows), array("d", values)
        return found


_WAY: Final = f"{sys.byteorder} {array('i').itemsize} {array('d').itemsize} {_KINDS} {_WIDTH}"
