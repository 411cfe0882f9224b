"""Whether a request body would be taken by its provider, as far as its own JSON tells (facts §1, §4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from ctxtui.core import canonical
from ctxtui.core.canonical import Json
from ctxtui.curation import legal_anthropic, legal_markers, legal_openai, legal_text, legal_tools
from ctxtui.curation.violation import SIZE, Violation

_Check = Callable[[dict[str, Json]], Iterator[Violation]]

_CHECKS: Final[dict[str, tuple[_Check, ...]]] = {
    "anthropic": (legal_anthropic.violations, legal_tools.anthropic, legal_markers.anthropic, legal_text.violations),
    "openai_chat": (legal_openai.chat_violations, legal_tools.chat, legal_markers.openai, legal_text.violations),
    "openai_responses": (
        legal_openai.responses_violations,
        legal_tools.responses,
        legal_markers.openai,
        legal_text.violations,
    ),
    # Ollama refuses no conversation; a template may.
    "ollama_chat": (legal_text.violations,),
}

MOST_BYTES: Final = {"anthropic": 32_000_000}
"""The largest request, where one is known (facts §1)."""


def check(dialect: str, body: bytes | Json, *, prefill: bool = True) -> list[Violation]:
    """What `dialect` would refuse in `body` (JSON bytes, or its value): pairs of call and answer, roles, the first and
    the last message, empty or invalid text, thinking, compaction, images, cache markers, names of tools. Empty where
    nothing is wrong. `prefill` says that the model takes a conversation that ends with the assistant's message.
    Raises `KeyError` for an unknown dialect."""
    find = _CHECKS[dialect]
    value = canonical.loads(body) if isinstance(body, bytes) else body
    if not isinstance(value, dict):
        return [Violation("$", "the body must be an object")]
    found = [violation for one in find for violation in one(value)]
    if not prefill and dialect == "anthropic":
        found += legal_anthropic.prefilled(value)
    most = MOST_BYTES.get(dialect)
    if most and isinstance(body, bytes) and len(body) > most:
        found.append(Violation("$", f"the request is {len(body):,} bytes, the most is {most:,}", SIZE))
    return found
