"""Whole tokens of contexts by category, under one set of weights: each row of features is weighed once."""

from __future__ import annotations

from array import array
from typing import Final

from ctxtui.tokens.feature_rows import FeatureRows
from ctxtui.tokens.weights import Weights, tokens

_UNKNOWN: Final = -(2**62)
_MORE: Final = 4096
"""Rows for which room is made at once."""


class WholeTokens:
    """What the compositions of `rows` come to under `weights`. A row never changes: what it comes to is kept. Several
    threads may ask."""

    def __init__(self, rows: FeatureRows, weights: Weights) -> None:
        self.rows = rows
        self.weights = weights
        self._known = array("q")

    def at(self, number: int) -> tuple[int, ...]:
        """Tokens by category of the context `number`. Raises `IndexError` for one that is not there."""
        known, rows = self._known, self.rows.rows_at(number)
        try:
            found = [known[row] for row in rows]
        except IndexError:
            self._make_room(max(rows))
            found = [known[row] for row in rows]
        if _UNKNOWN in found:
            found = [self._weighed(row) if one == _UNKNOWN else one for row, one in zip(rows, found, strict=True)]
        return tuple(found)

    def of(self, number: int, category: int) -> int:
        """As `at`, of one category alone."""
        return self._of(self.rows.row_at(number, category))

    def _of(self, row: int) -> int:
        self._make_room(row)
        return self._weighed(row)

    def _weighed(self, row: int) -> int:
        """As `_of`, where there is room for the row."""
        found = self._known[row]
        if found == _UNKNOWN:
            found = self._known[row] = round(tokens(self.rows.values(row), self.weights))
        return found

    def _make_room(self, row: int) -> None:
        room = len(self._known)
        if row >= room:
            # Two threads that make room at once make more than enough.
            self._known.extend([_UNKNOWN] * (row + _MORE - room))
