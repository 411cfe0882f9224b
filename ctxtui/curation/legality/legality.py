"""Checks whether a provider would accept a request body, judging by its JSON alone.

The entry is `check`; the rules of each dialect are in the other modules of this package. Requests under edits are
checked before they are sent, and recorded ones for ``ctxtui repair``. Source: facts §1, §4.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from ctxtui.core import canonical
from ctxtui.core.canonical import Json
from ctxtui.curation.apply.block_text import clean
from ctxtui.curation.legality import anthropic, encrypted, google, images, markers, openai, tools
from ctxtui.curation.legality.violation import CHARACTERS, SIZE, Violation
from ctxtui.tokens.models import UNKNOWN_LIMITS, RequestLimits

# No provider accepts these characters in a string.
_NUL: Final = "\x00"
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def check_characters(value: Json, path: str = "$") -> Iterator[Violation]:
    """Find every string in `value`, keys included, with a refused character."""
    if isinstance(value, str):
        if _NUL in value:
            yield Violation(path, "text must not hold a NUL character", CHARACTERS)
        elif not value.isascii() and _SURROGATE.search(value):
            yield Violation(path, "text must not hold half of a surrogate pair", CHARACTERS)
    elif isinstance(value, list):
        for n, item in enumerate(value):
            yield from check_characters(item, f"{path}[{n}]")
    elif isinstance(value, dict):
        for key, item in value.items():
            inner = f"{path}.{clean(key)}"
            yield from check_characters(key, inner)
            yield from check_characters(item, inner)


_Check = Callable[[dict[str, Json]], Iterator[Violation]]

_CHECKS: Final[dict[str, tuple[_Check, ...]]] = {
    "anthropic": (
        anthropic.violations,
        encrypted.anthropic,
        tools.anthropic,
        markers.anthropic,
        check_characters,
    ),
    "openai_chat": (openai.chat_violations, images.openai, tools.chat, markers.openai, check_characters),
    "openai_responses": (
        openai.responses_violations,
        images.openai,
        encrypted.responses,
        tools.responses,
        markers.openai,
        check_characters,
    ),
    # Ollama refuses no other conversation; a model's template may.
    "ollama_chat": (check_characters,),
    "google": (google.violations, google.tools, check_characters),
}

MAX_REQUEST_BYTES: Final = {"anthropic": 32_000_000}
"""Maximum request size in bytes, if known (facts §1)."""


def check(dialect: str, body: bytes | Json, *, limits: RequestLimits = UNKNOWN_LIMITS) -> list[Violation]:
    """Find what the provider would refuse in `body`, JSON as bytes or as a value.

    What is checked depends on the dialect; of Ollama's bodies only characters. `limits` are the model's, for Anthropic.
    Raises `KeyError` for an unknown dialect.
    """
    checks = _CHECKS[dialect]
    try:
        value = canonical.loads(body) if isinstance(body, bytes) else body
        if not isinstance(value, dict):
            return [Violation("$", "the body must be an object")]
        violations = [violation for find in checks for violation in find(value)]
        if dialect == "anthropic":
            violations += images.anthropic(value, limits.media)
            violations += [] if limits.prefill else anthropic.check_prefill(value)
    except UnicodeDecodeError as error:
        return [Violation("$", f"the body is not UTF-8: byte {error.start}")]
    except ValueError as error:
        return [Violation("$", f"the body is not JSON: {error}")]
    except RecursionError:
        return [Violation("$", "the body is nested too deeply")]
    max_bytes = MAX_REQUEST_BYTES.get(dialect)
    if max_bytes and isinstance(body, bytes) and len(body) > max_bytes:
        violations.append(Violation("$", f"the request is {len(body):,} bytes, the most is {max_bytes:,}", SIZE))
    return violations
