"""Rules that depend on the Gemini model: limits, thinking, signatures, caching."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.core.canonical import Json
from ctxtui.offline.anthropic.models import ANY_OUTPUT, OFFLINE
from ctxtui.offline.usage_ledger import card

KNOWN: Final = (
    "gemini-3.1-pro-preview", "gemini-3-pro-preview", "gemini-3-flash-preview", "gemini-2.5-pro", "gemini-2.5-flash",
    "gemini-2.5-flash-lite", "gemini-2.0-flash",
)  # fmt: skip
"""Models that the API lists; other names of the same form are accepted, too."""
METHODS: Final = ("generateContent", "countTokens", "createCachedContent")
_NAME: Final = re.compile(r"gemini-(?:(\d+)(?:\.(\d+))?-)?(?:pro|flash|flash-lite)(?:-[a-z0-9-]+)?")
MAX_OUTPUT: Final = 65_536
WINDOW: Final = 1_048_576
_NEWEST: Final = (3, 1)


class Gemini(Struct, frozen=True):
    """Rules of one model.

    - `thinks`: 2.5 and later.
    - `signs`: it signs its calls, and requires the signatures in later requests (3 and later).
    - `min_cached`: minimum tokens of a cached content.
    """

    id: str
    thinks: bool
    signs: bool
    min_cached: int
    window: int
    max_output: int


@cache
def gemini(model: str, strict: bool = True) -> Gemini | None:
    """The rules of `model`; None if there is no such model.

    Without `strict` an unknown model has the rules of `OFFLINE`, and no model has an output limit.
    """
    if not strict:
        rules = gemini(model) or gemini(OFFLINE)
        assert rules is not None
        return replace(rules, id=model, max_output=ANY_OUTPUT)
    match = _NAME.fullmatch(model)
    if model != OFFLINE and match is None:
        return None
    version = (int(match[1]), int(match[2] or 0)) if match and match[1] else _NEWEST
    min_cached = 4096 if "pro" in model else 1024
    window = card(model).window or WINDOW
    return Gemini(model, version >= (2, 5), version >= (3, 0), min_cached, window, MAX_OUTPUT)


def list_models() -> Json:
    return {"models": [describe_model(id_) for id_ in (OFFLINE, *KNOWN)]}


def describe_model(id_: str) -> dict[str, Json]:
    """The answer of ``models.get``; an unknown id has the rules of `OFFLINE`."""
    rules = gemini(id_) or gemini(OFFLINE)
    assert rules is not None
    return {
        "name": f"models/{id_}",
        "version": "offline",
        "displayName": id_,
        "description": "Simulated by ctxtui: no model.",
        "inputTokenLimit": rules.window,
        "outputTokenLimit": rules.max_output,
        "supportedGenerationMethods": list(METHODS),
        "thinking": rules.thinks,
    }
