"""Rules of each Claude model (facts §1, §3), by the model's name."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.core.canonical import Json
from ctxtui.offline.usage_ledger import card
from ctxtui.tokens.models import plain_id

OFFLINE: Final = "offline"

STAND_IN: Final = "claude-opus-5-5"
"""The model whose rules apply to `OFFLINE`, except its window, answer limit, images and stripping of thinking."""

KNOWN: Final = tuple(
    (
        "claude-fable-5-2 claude-mythos-5-2 claude-fable-5-1 claude-mythos-5-1 claude-opus-5-5 claude-sonnet-5-5 "
        "claude-haiku-5-5 claude-fable-5 claude-mythos-5 claude-opus-5 claude-opus-4-8 claude-opus-4-7 "
        "claude-sonnet-5 claude-opus-4-6 claude-sonnet-4-6 claude-opus-4-5 claude-sonnet-4-5 claude-haiku-4-5 "
        "claude-opus-4-1 claude-opus-4 claude-sonnet-4"
    ).split()
)
"""If models are checked strictly, a name that is no spelling of one of these is refused as not found."""

_NAME: Final = re.compile(r"claude-(opus|sonnet|haiku|fable|mythos)-(\d)(?:-(\d))?$")
_ALWAYS_THINKING: Final = ("fable", "mythos")
_KINDS_OF_THINKING: Final = ("adaptive", "enabled", "disabled", "between_tools")
ANY_OUTPUT: Final = 2**63
"""The output limit, in tokens, where any ``max_tokens`` is accepted: the answers are short anyway."""
EFFORTS: Final = ("low", "medium", "high", "xhigh", "max")


class Claude(Struct, frozen=True):
    """Rules of one model.

    - `id`: the plain name (for `OFFLINE`, the name of `STAND_IN`); `line`, `version`: its parts: ``opus``, (5, 5).
    - `window`, `max_output`: tokens.
    - `thinking`: accepted values of ``thinking.type``; `efforts`: accepted effort levels.
    - `thinks`: it thinks by default.
    - `prefill`: it continues a conversation that ends with the assistant.
    - `system_role`: it accepts system messages.
    - `sampling`: it accepts sampling parameters.
    - `forced_calls`: it accepts a ``tool_choice`` that forces a call (never together with ``enabled`` thinking).
    - `bound`: a thinking signature is valid only after the same context.
    - `strips`: thinking of earlier turns is dropped from the context.
    - `images`: maximum images of a request, and also maximum pages of its PDFs.
    """

    id: str
    line: str
    version: tuple[int, int]
    window: int
    max_output: int
    thinking: tuple[str, ...]
    efforts: tuple[str, ...]
    thinks: bool
    prefill: bool
    system_role: bool
    sampling: bool
    forced_calls: bool
    bound: bool
    strips: bool
    images: int


@cache
def claude(model: str, strict: bool = True) -> Claude | None:
    """The rules of `model` in any of its spellings; None for an unknown model.

    Without `strict` an unknown model has the rules of `OFFLINE`, with every kind of thinking, sampling and prefill, and
    no model has an output limit.
    """
    if not strict:
        claude_model = claude(model)
        stand_in = claude_model or claude(OFFLINE)
        assert stand_in is not None
        if claude_model is None:
            stand_in = replace(stand_in, id=model, thinking=_KINDS_OF_THINKING, prefill=True, sampling=True)
        return replace(stand_in, max_output=ANY_OUTPUT)
    plain = STAND_IN if model == OFFLINE else plain_id(model)
    named = _NAME.match(plain.removesuffix("-0"))
    if named is None or named.group() not in KNOWN:
        return None
    line, version = named[1], (int(named[2]), int(named[3] or 0))
    facts = card(OFFLINE if model == OFFLINE else plain)
    window = facts.window or 200_000
    return Claude(
        id=plain,
        line=line,
        version=version,
        window=window,
        max_output=facts.max_output or 64_000,
        thinking=_thinking_types(line, version),
        efforts=_effort_levels(line, version),
        thinks=line in _ALWAYS_THINKING or version >= (5, 0),
        prefill=version < (4, 6),
        system_role=version >= (4, 8) and (line, version) != ("sonnet", (5, 0)),
        sampling=version <= (4, 6),
        forced_calls=not (line in _ALWAYS_THINKING and version == (5, 1)),
        bound=version >= ((5, 1) if line in _ALWAYS_THINKING else (5, 5)),
        strips=facts.strips_thinking,
        images=100 if window <= 200_000 else 600,
    )


def _thinking_types(line: str, version: tuple[int, int]) -> tuple[str, ...]:
    kinds = ["adaptive"] if version >= (4, 6) else []
    if version <= (4, 6):
        kinds.append("enabled")
    if line not in _ALWAYS_THINKING:
        kinds.append("disabled")
        # The documentation does not say which models have it: assume those released with it.
        kinds += ["between_tools"] if version >= (5, 5) else []
    return tuple(kinds)


def _effort_levels(line: str, version: tuple[int, int]) -> tuple[str, ...]:
    if version >= (4, 7):
        return EFFORTS
    if version == (4, 6):
        return ("low", "medium", "high", "max")
    return ("low", "medium", "high") if (line, version) == ("opus", (4, 5)) else ()


def anthropic_models() -> Json:
    ids = (OFFLINE, *KNOWN)
    return {"data": [anthropic_model(id_) for id_ in ids], "has_more": False, "first_id": ids[0], "last_id": ids[-1]}


def anthropic_model(id_: str, strict: bool = True) -> dict[str, Json] | None:
    """One model as the API lists it, released in 1970; None for an unknown id if `strict`."""
    claude_model = claude(id_)
    model = claude_model or claude(OFFLINE)
    if model is None or (claude_model is None and strict):
        return None
    if id_ == OFFLINE:
        name = "ctxtui offline (no model)"
    elif claude_model is None:
        name = f"{id_} (ctxtui offline, no model)"
    else:
        version = ".".join(str(number) for number in model.version if number)
        name = f"Claude {model.line.capitalize()} {version} (simulated offline)"
    return {
        "type": "model",
        "id": id_,
        "display_name": name,
        "created_at": "1970-01-01T00:00:00Z",
        "lifecycle": "active",
        "line": None if id_ == OFFLINE or claude_model is None else model.line,
        "max_input_tokens": model.window,
        "max_tokens": model.max_output,
        "deprecated_at": None,
        "retires_at": None,
        "capabilities": None,
    }
