"""Chance without randomness: the same seed gives the same texts under every version of Python."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import TypeVar

T = TypeVar("T")


class Dice:
    """A sequence of numbers drawn from `seed` by hashing a counter."""

    def __init__(self, seed: str) -> None:
        self.seed = seed
        self.drawn = 0

    def below(self, n: int) -> int:
        """A whole number from 0 to `n` - 1."""
        self.drawn += 1
        digest = blake2b(f"{self.seed}/{self.drawn}".encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big") % n

    def between(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both possible."""
        return low + self.below(high - low + 1)

    def real(self, low: float, high: float, digits: int = 3) -> float:
        """A number from `low` to `high`, rounded to `digits` places."""
        return round(low + (high - low) * self.below(1_000_003) / 1_000_002, digits)

    def pick(self, options: Sequence[T]) -> T:
        """One of `options`."""
        return options[self.below(len(options))]

    def some(self, options: Sequence[T], count: int) -> list[T]:
        """`count` different ones of `options`, in their order."""
        left = list(range(len(options)))
        while len(left) > count:
            left.pop(self.below(len(left)))
        return [options[i] for i in left]

    def hex(self, length: int) -> str:
        """`length` hexadecimal digits."""
        return "".join(f"{self.below(16):x}" for _ in range(length))

    def digits(self, length: int) -> str:
        """`length` decimal digits, the first not 0."""
        return "".join(str(self.between(0 if i else 1, 9)) for i in range(length))


_LAST = "", "", "", "", "so", "too", "here", "again", "anyway", "instead", "likewise", "elsewhere", "regardless"


def exactly(text: str, size: int, more: Iterator[str]) -> str:
    """`text` continued by sentences from `more`, exactly `size` characters long: cut at a word, ended by a full stop.

    Raises `ValueError` if `text` alone is longer than `size`.
    """
    if len(text) > size:
        raise ValueError(f"text of {len(text)} characters does not fit in {size}")
    while len(text) < size:
        text += next(more)
    if len(text) == size:
        return text
    for end in range(size - 1, max(0, size - 40), -1):
        gap = size - end
        if text[end - 1].isalnum() and not text[end].isalnum() and (gap == 1 or 4 <= gap < len(_LAST)):
            return text[:end] + (f" {_LAST[gap]}." if gap > 1 else ".")
    return text[: size - 1] + "."
