"""Text that no provider takes: NUL characters and lone surrogates."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.curation.violation import TEXT, Violation

_NUL: Final = "\x00"
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def violations(body: dict[str, Json]) -> Iterator[Violation]:
    """Every string in `body` with a character that is refused."""
    yield from _walk(body, "$")


def _walk(value: Json, path: str) -> Iterator[Violation]:
    if isinstance(value, str):
        if _NUL in value:
            yield Violation(path, "text must not hold a NUL character", TEXT)
        elif not value.isascii() and _SURROGATE.search(value):
            yield Violation(path, "text must not hold half of a surrogate pair", TEXT)
    elif isinstance(value, list):
        for n, item in enumerate(value):
            yield from _walk(item, f"{path}[{n}]")
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _walk(item, f"{path}.{key}")
