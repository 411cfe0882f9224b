"""Checks that encrypted content is present where required, and a string (facts §1, §4).

`anthropic` and `responses` check the request bodies of the dialect that they are named after.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_list
from ctxtui.curation.legality.violation import ENCRYPTED, Violation

_KEYS: Final = frozenset({"encrypted_content", "encrypted_index", "encrypted_stdout"})
_FREE: Final = frozenset({"input", "arguments"})
"""Members that are skipped: a tool's input may have any names."""

_NEEDED: Final = frozenset({"compaction", "compaction_summary", "encrypted_content"})
"""Kinds of OpenAI's items and parts that must have it."""


def anthropic(body: dict[str, Json]) -> Iterator[Violation]:
    for n, message in enumerate(as_list(body.get("messages"))):
        for m, part in enumerate(as_list(message.get("content") if isinstance(message, dict) else None)):
            yield from _check_value(part, f"$.messages[{n}].content[{m}]", frozenset())


def responses(body: dict[str, Json]) -> Iterator[Violation]:
    for n, item in enumerate(as_list(body.get("input"))):
        yield from _check_value(item, f"$.input[{n}]", _NEEDED)


def _check_value(value: Json, path: str, needed: frozenset[str]) -> Iterator[Violation]:
    if isinstance(value, list):
        for n, member in enumerate(value):
            yield from _check_value(member, f"{path}[{n}]", needed)
    elif isinstance(value, dict):
        if value.get("encrypted_content") is None and str(value.get("type")) in needed:
            yield Violation(f"{path}.encrypted_content", "encrypted content is required", ENCRYPTED)
        for key, member in value.items():
            if key in _KEYS and member is not None and not isinstance(member, str):
                yield Violation(f"{path}.{key}", "encrypted content must be a string", ENCRYPTED)
            elif key not in _FREE:
                yield from _check_value(member, f"{path}.{key}", needed)
