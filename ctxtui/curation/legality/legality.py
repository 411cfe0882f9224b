"""Whether a request body would be taken by its provider, as far as its own JSON tells (facts §1, §4).

No provider takes NUL characters and lone surrogates.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from ctxtui.core import canonical
from ctxtui.core.canonical import Json
from ctxtui.curation.apply.block_text import clean
from ctxtui.curation.legality import anthropic, encrypted, images, markers, openai, tools
from ctxtui.curation.legality.violation import CHARACTERS, SIZE, Violation
from ctxtui.tokens.models import UNKNOWN_LIMITS, RequestLimits

_NUL: Final = "\x00"
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def violations(body: dict[str, Json]) -> Iterator[Violation]:
    """Every string in `body`, keys included, with a character that is refused."""
    yield from _walk(body, "$")


def _walk(value: Json, path: str) -> Iterator[Violation]:
    if isinstance(value, str):
        if _NUL in value:
            yield Violation(path, "text must not hold a NUL character", CHARACTERS)
        elif not value.isascii() and _SURROGATE.search(value):
            yield Violation(path, "text must not hold half of a surrogate pair", CHARACTERS)
    elif isinstance(value, list):
        for n, item in enumerate(value):
            yield from _walk(item, f"{path}[{n}]")
    elif isinstance(value, dict):
        for key, item in value.items():
            inner = f"{path}.{clean(key)}"
            yield from _walk(key, inner)
            yield from _walk(item, inner)


_Check = Callable[[dict[str, Json]], Iterator[Violation]]

_CHECKS: Final[dict[str, tuple[_Check, ...]]] = {
    "anthropic": (
        anthropic.violations,
        encrypted.anthropic,
        tools.anthropic,
        markers.anthropic,
        violations,
    ),
    "openai_chat": (openai.chat_violations, images.openai, tools.chat, markers.openai, violations),
    "openai_responses": (
        openai.responses_violations,
        images.openai,
        encrypted.responses,
        tools.responses,
        markers.openai,
        violations,
    ),
    # Ollama refuses no conversation; a template may.
    "ollama_chat": (violations,),
}

MOST_BYTES: Final = {"anthropic": 32_000_000}
"""The largest request, where one is known (facts §1)."""


def check(dialect: str, body: bytes | Json, *, takes: RequestLimits = UNKNOWN_LIMITS) -> list[Violation]:
    """What `dialect` would refuse in `body` (JSON bytes, or its value): pairs of call and answer, roles, the first and
    the last message, empty or invalid text, thinking, compaction, images, cache markers, names of tools. Empty where
    nothing is wrong. `takes` says what requests of the model may hold. Raises `KeyError` for an unknown dialect."""
    find = _CHECKS[dialect]
    try:
        value = canonical.loads(body) if isinstance(body, bytes) else body
    except UnicodeDecodeError as error:
        return [Violation("$", f"the body is not UTF-8: byte {error.start}")]
    except ValueError as error:
        return [Violation("$", f"the body is not JSON: {error}")]
    if not isinstance(value, dict):
        return [Violation("$", "the body must be an object")]
    found = [violation for one in find for violation in one(value)]
    if dialect == "anthropic":
        found += images.anthropic(value, takes.media)
    if not takes.prefill and dialect == "anthropic":
        found += anthropic.prefilled(value)
    most = MOST_BYTES.get(dialect)
    if most and isinstance(body, bytes) and len(body) > most:
        found.append(Violation("$", f"the request is {len(body):,} bytes, the most is {most:,}", SIZE))
    return found
