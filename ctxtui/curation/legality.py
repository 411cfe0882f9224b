"""Whether a request body would be taken by its provider, as far as its own JSON tells (facts §1, §4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from ctxtui.core import canonical
from ctxtui.core.canonical import Json
from ctxtui.curation import legal_anthropic, legal_openai
from ctxtui.curation.violation import Violation

_CHECKS: Final[dict[str, Callable[[dict[str, Json]], Iterator[Violation]]]] = {
    "anthropic": legal_anthropic.violations,
    "openai_chat": legal_openai.chat_violations,
    "openai_responses": legal_openai.responses_violations,
}


def check(dialect: str, body: bytes | Json) -> list[Violation]:
    """What `dialect` would refuse in `body` (JSON bytes, or its value): pairs of call and answer, roles, the first
    message, empty text. Empty where nothing is wrong. Raises `KeyError` for an unknown dialect."""
    find = _CHECKS[dialect]
    value = canonical.loads(body) if isinstance(body, bytes) else body
    if not isinstance(value, dict):
        return [Violation("$", "the body must be an object")]
    return list(find(value))
