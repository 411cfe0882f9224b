"""Keeps a key out of what a provider says: out of its errors and out of its streams."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Final

MASK: Final = "[key]"
"""What stands for the key, or for half of it."""
_SHORTEST: Final = 8
"""Characters that a key, or half of one, needs to be looked for: "none" and the like are words."""
_KEY: Final = 16
"""Characters from which a header's value with a digit in it is taken for a key."""


class KeyMask:
    """Masks `key` in texts and streams, whole, its first or its last half; a short one hides nothing. `further` ones
    (values of headers) are masked where they look like keys."""

    def __init__(self, key: str, *further: str) -> None:
        keys = [key.encode()] if len(key) >= _SHORTEST else []
        keys += [one.encode() for one in further if len(one) >= _KEY and any(char.isdigit() for char in one)]
        self._parts: list[bytes] = []
        for one in keys:
            half = len(one) // 2
            self._parts += [one, *((one[:half], one[half:]) if half >= _SHORTEST else ())]
        # The whole one before its halves.
        self._pattern = re.compile(b"|".join(map(re.escape, self._parts))) if keys else None

    def text(self, words: str) -> str:
        """`words` without the key."""
        return self.masked(words.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

    async def stream(self, data: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """`data` without the key, also where it comes in pieces: what may be its beginning waits for the next piece."""
        held = b""
        async for piece in data:
            told, held = self.piece(held + piece)
            if told:
                yield told
        if held:
            yield self.masked(held)

    def piece(self, known: bytes) -> tuple[bytes, bytes]:
        """What of `known` can be told, without the key, and what has to wait for the next piece."""
        cut = self._settled(known)
        return self.masked(known[:cut]), known[cut:]

    def _settled(self, data: bytes) -> int:
        """Up to where `data` will stay as it is: its end may be the beginning of the key or of half of it."""
        if self._pattern is None:
            return len(data)
        cut = min((_begun(data, one) for one in self._parts), default=len(data))
        # A half that is there already may end in what begins the key once more.
        return next((m.end() for m in self._pattern.finditer(data) if m.start() < cut < m.end()), cut)

    def masked(self, data: bytes) -> bytes:
        """`data` without the key."""
        return self._pattern.sub(MASK.encode(), data) if self._pattern else data


def _begun(data: bytes, part: bytes) -> int:
    """Where the end of `data` begins `part`, and `data` is at its end before it is whole; its length for nowhere."""
    at = max(0, len(data) - len(part) + 1)
    while (at := data.find(part[:1], at)) >= 0:
        if part.startswith(data[at:]):
            return at
        at += 1
    return len(data)
