"""Mask API keys in URLs, and given keys in a provider's errors and streams."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Final

MASKED: Final = "<masked>"
"""Replacement for secrets in recorded headers and URLs."""
_USER: Final = re.compile(r"(?<=://)[^/?#\s]*@")
_QUERY_KEY: Final = re.compile(
    r"([?&;](?:[\w.-]*(?:key|token|secret|sig|signature|auth|password)[\w.-]*)=)([^&;#\s\"]+)", re.IGNORECASE
)
MASK: Final = "[key]"
"""Replacement for the key, or for half of it."""
_MIN_KEY_CHARS: Final = 8
"""Minimum characters of a key, or of half of one, to be masked, so that a word such as ``none`` is not."""
_MIN_HEADER_KEY_CHARS: Final = 16
"""Minimum characters for a header's value with a digit in it to count as a key."""


def mask_url(url: str) -> str:
    """Mask keys in the query, remove user and password; in a text, do so in every URL."""
    return _QUERY_KEY.sub(rf"\1{MASKED}", _USER.sub("", url))


def keys_in_query(url: str) -> list[str]:
    """The values that `mask_url` masks."""
    return [match[2] for match in _QUERY_KEY.finditer(url)]


class KeyMask:
    """Masks `key` in texts and streams: the whole key, its first half or its last half.

    `further` keys (values of headers) are masked if they look like keys.
    """

    def __init__(self, key: str, *further: str) -> None:
        keys = [key.encode()] if len(key) >= _MIN_KEY_CHARS else []
        keys += [
            secret.encode()
            for secret in further
            if len(secret) >= _MIN_HEADER_KEY_CHARS and any(char.isdigit() for char in secret)
        ]
        self._parts: list[bytes] = []
        for secret in keys:
            half = len(secret) // 2
            self._parts += [secret, *((secret[:half], secret[half:]) if half >= _MIN_KEY_CHARS else ())]
        # The whole key before its halves.
        self._pattern = re.compile(b"|".join(map(re.escape, self._parts))) if keys else None

    def mask_text(self, text: str) -> str:
        return self.mask_bytes(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

    async def mask_stream(self, data: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """Mask the key in a stream, even if it is split over chunks."""
        unfinished = b""
        async for piece in data:
            masked, unfinished = self.split_safe(unfinished + piece)
            if masked:
                yield masked
        if unfinished:
            yield self.mask_bytes(unfinished)

    def split_safe(self, buffered: bytes) -> tuple[bytes, bytes]:
        """Split bytes into a masked part, and the rest, which may be the start of a key."""
        cut = self._safe_length(buffered)
        return self.mask_bytes(buffered[:cut]), buffered[cut:]

    def _safe_length(self, data: bytes) -> int:
        if self._pattern is None:
            return len(data)
        cut = min((_partial_start(data, part) for part in self._parts), default=len(data))
        # A complete half may end in another start of the key.
        return next((m.end() for m in self._pattern.finditer(data) if m.start() < cut < m.end()), cut)

    def mask_bytes(self, data: bytes) -> bytes:
        return self._pattern.sub(MASK.encode(), data) if self._pattern else data


def _partial_start(data: bytes, part: bytes) -> int:
    """Index at which the end of `data` is an incomplete start of `part`.

    The length of `data` if there is none.
    """
    start = max(0, len(data) - len(part) + 1)
    while (start := data.find(part[:1], start)) >= 0:
        if part.startswith(data[start:]):
            return start
        start += 1
    return len(data)
