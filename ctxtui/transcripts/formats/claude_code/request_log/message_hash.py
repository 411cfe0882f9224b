"""The hash by which Claude Code's request records name a message (facts §13.1): SHA-256 of its JSON with keys sorted
and cache markers taken out; a content that is one string is hashed as a list of one text."""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from ctxtui.core import canonical
from ctxtui.core.canonical import Json

_MARKER: Final = "cache_control"


class RunHash:
    """The hash of a message of `role` that grows part by part; `count` is how many parts it has."""

    def __init__(self, role: str) -> None:
        self._role = role
        self._hash = sha256(b'{"content":[')
        self.count = 0

    def add(self, part: Json) -> None:
        """One more part of the content."""
        self.add_text(_text(part))

    def add_text(self, text: bytes) -> None:
        """One more part of the content, as it is hashed."""
        self._hash.update(b"," + text if self.count else text)
        self.count += 1

    def digest(self) -> str:
        """The hash of the message as far as it is."""
        whole = self._hash.copy()
        whole.update(b'],"role":' + _text(self._role) + b"}")
        return whole.hexdigest()


def _text(value: Json) -> bytes:
    return canonical.text_of(_sorted(value)).encode("utf-8", "ctxtui-json")


def _sorted(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value, key=_order) if key != _MARKER}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


def _order(key: str) -> bytes:
    # JavaScript compares code units, Python code points: above U+FFFF the two differ.
    return key.encode("utf-16-be", "surrogatepass")
