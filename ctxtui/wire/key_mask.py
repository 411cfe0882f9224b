"""Mask an API key in a provider's errors and streams."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Final

MASK: Final = "[key]"
"""Replacement for the key, or for half of it."""
_SHORTEST: Final = 8
"""Minimum characters of a key, or of half of one, to be masked: "none" and the like are words."""
_KEY: Final = 16
"""Minimum characters for a header's value with a digit in it to count as a key."""


class KeyMask:
    """Masks `key` in texts and streams: the whole key, its first half or its last half.

    A short key is not masked. `further` keys (values of headers) are masked if they look like keys.
    """

    def __init__(self, key: str, *further: str) -> None:
        keys = [key.encode()] if len(key) >= _SHORTEST else []
        keys += [one.encode() for one in further if len(one) >= _KEY and any(char.isdigit() for char in one)]
        self._parts: list[bytes] = []
        for one in keys:
            half = len(one) // 2
            self._parts += [one, *((one[:half], one[half:]) if half >= _SHORTEST else ())]
        # The whole key before its halves.
        self._pattern = re.compile(b"|".join(map(re.escape, self._parts))) if keys else None

    def text(self, words: str) -> str:
        """Mask the key in a text."""
        return self.masked(words.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

    async def stream(self, data: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """Mask the key in a stream, also if it is split over chunks: a possible start of it waits for the next chunk."""
        held = b""
        async for piece in data:
            told, held = self.piece(held + piece)
            if told:
                yield told
        if held:
            yield self.masked(held)

    def piece(self, known: bytes) -> tuple[bytes, bytes]:
        """Split buffered bytes into the masked part that is safe to emit, and the rest that waits for the next chunk."""
        cut = self._settled(known)
        return self.masked(known[:cut]), known[cut:]

    def _settled(self, data: bytes) -> int:
        """Length of the part of `data` that is final: its end may be the start of the key or of half of it."""
        if self._pattern is None:
            return len(data)
        cut = min((_begun(data, one) for one in self._parts), default=len(data))
        # A complete half may end in another start of the key.
        return next((m.end() for m in self._pattern.finditer(data) if m.start() < cut < m.end()), cut)

    def masked(self, data: bytes) -> bytes:
        """Mask the key in `data`."""
        return self._pattern.sub(MASK.encode(), data) if self._pattern else data


def _begun(data: bytes, part: bytes) -> int:
    """Index at which the end of `data` is an incomplete start of `part`; the length of `data` if there is none."""
    at = max(0, len(data) - len(part) + 1)
    while (at := data.find(part[:1], at)) >= 0:
        if part.startswith(data[at:]):
            return at
        at += 1
    return len(data)
