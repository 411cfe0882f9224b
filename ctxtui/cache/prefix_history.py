"""Prefixes that earlier requests had, for simulating caches without markers."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ctxtui.cache.prefix_key import PrefixEnd


class Use(NamedTuple):
    """One request.

    - `parent`: the earlier request (-1: none) with which it shares its first `number` positions.
    - `at`: when it was sent; `ready`: from when its prefixes are readable (Unix seconds).
    """

    parent: int
    number: int
    at: float
    ready: float


class PrefixHistory:
    """Prefixes by key, each with its owner.

    An owner is (request, number of positions): the last request that added the prefix as a new one, and its length.
    """

    def __init__(self, owners: dict[bytes, tuple[int, int]] | None = None, uses: list[Use] | None = None) -> None:
        self._owners: dict[bytes, tuple[int, int]] = owners or {}
        self.uses: list[Use] = uses or []

    def copy(self) -> PrefixHistory:
        return PrefixHistory(dict(self._owners), list(self.uses))

    def deepest(self, last: PrefixEnd, holds: Callable[[int, int], bool]) -> PrefixEnd | None:
        """Longest recorded prefix of the prompt up to `last` whose owner passes `holds`."""
        owners = self._owners
        for position in last.back():
            owner = owners.get(position.key)
            if owner is not None and holds(*owner):
                return position
        return None

    def longest_known(self, last: PrefixEnd) -> PrefixEnd | None:
        """Longest recorded prefix of the prompt up to `last`, expired or not."""
        return next((position for position in last.back() if position.key in self._owners), None)

    def owner(self, position: PrefixEnd) -> tuple[int, int]:
        return self._owners[position.key]

    def add_request(self, last: PrefixEnd, hit: PrefixEnd | None, at: float, ready: float) -> int:
        """Add a request up to `last` that shares the prefix up to `hit` with earlier ones.

        Returns its number.
        """
        number = len(self.uses)
        parent = self._owners[hit.key][0] if hit else -1
        self.uses.append(Use(parent, hit.number if hit else 0, at, ready))
        for position in last.back():
            if hit is not None and position.number <= hit.number:
                break
            self._owners[position.key] = (number, position.number)
        return number

    def has(self, request: int, owner: int, number: int) -> bool:
        """Whether `request` has the prefix that ends at position `number` of the request `owner`."""
        while request > owner:
            use = self.uses[request]
            if use.number < number:
                return False
            request = use.parent
        return request == owner
