"""Compositions of many contexts: a context shares with the one before it everything that its last block did not
change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from ctxtui.core.category import CATEGORIES
from ctxtui.tokens.features import NOTHING, Features, plus

Composition = tuple[Features, ...]
"""Raw features of a context, one entry per category in the order of `CATEGORIES`."""

_KINDS: Final = len(CATEGORIES)


class FeatureRows:
    """The compositions of contexts by number, from 0 (the empty one) on. They are only appended, so that one thread may
    add while others read; `put` names another composition for a context that is there."""

    def __init__(self) -> None:
        self._of: list[tuple[int, ...]] = [(0,) * _KINDS]
        """The row of each category, by context."""
        self._rows: list[Features] = [NOTHING]

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

    def _made(self, before: int, more: Iterable[tuple[int, Features]]) -> tuple[int, ...]:
        made = list(self._of[before])
        for category, own in more:
            self._rows.append(plus(self._rows[made[category]], own))
            made[category] = len(self._rows) - 1
        return tuple(made)

    def at(self, number: int) -> Composition:
        """The composition of a context. Raises `IndexError` for one that is not there."""
        return tuple([self._rows[row] for row in self._of[number]])

    def of(self, number: int, category: int) -> Features:
        """As `at`, of one category alone."""
        return self._rows[self._of[number][category]]

    def rows_at(self, number: int) -> Sequence[int]:
        """The row of each category in a context; a row never changes."""
        return self._of[number]

    def row_at(self, number: int, category: int) -> int:
        """As `rows_at`, of one category alone."""
        return self._of[number][category]

    def values(self, row: int) -> Features:
        """The features of a row."""
        return self._rows[row]
