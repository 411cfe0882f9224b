"""Rules of each OpenAI model (facts §4), by the model's name."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.core.canonical import Json
from ctxtui.offline.anthropic.models import ANY_OUTPUT, OFFLINE
from ctxtui.offline.usage_ledger import card
from ctxtui.tokens.models import plain_id

STAND_IN: Final = "gpt-5.6"
"""The model whose rules apply to `OFFLINE` in OpenAI's dialects, except its window and answer limit."""

KNOWN: Final = tuple(
    (
        "gpt-6.1-sol gpt-6.1-terra gpt-6-astra gpt-6-sol gpt-6-luna gpt-5.6 gpt-5.6-sol gpt-5.6-terra "
        "gpt-5.6-luna gpt-5.5 gpt-5.4 gpt-5.4-mini gpt-5.4-nano gpt-5.2 gpt-5.1 gpt-5 gpt-5-mini gpt-5-nano "
        "gpt-4.1 gpt-4o gpt-4o-mini o3 o4-mini"
    ).split()
)
"""Models that the API lists; related names are accepted too."""

_NAME: Final = re.compile(
    r"(gpt-(3\.5-turbo|4|4-turbo|4o|4\.1|4\.5|5|5\.[1-6]|6|6\.1)|o1|o3|o4|chatgpt-4o|codex)"
    r"(-(mini|nano|pro|codex|max|chat|latest|preview|search|audio|sol|terra|luna|astra|spark))*"
)
_VERSION: Final = re.compile(r"gpt-(\d+)(?:\.(\d+))?")
MAX_OUTPUT: Final = 128_000


class Gpt(Struct, frozen=True):
    """Rules of one model.

    - `window`, `max_output`: tokens.
    - `reasons`: it thinks before it answers.
    - `max_tokens`: it also accepts this older parameter.
    - `fixed`: it accepts only temperature 1 and top_p 1.
    - `breakpoints`: it caches at breakpoints (5.6 and later).
    - `all_turns`: reasoning of earlier turns stays in the context.
    - `system_role`: it accepts system and developer messages.
    """

    id: str
    window: int
    max_output: int
    reasons: bool
    max_tokens: bool
    fixed: bool
    breakpoints: bool
    all_turns: bool
    system_role: bool


@cache
def gpt(model: str, strict: bool = True) -> Gpt | None:
    """The rules of `model` in any of its spellings; None for an unknown model.

    Without `strict` an unknown model has the rules of `OFFLINE`, and no model has an output limit or refuses
    ``max_tokens``.
    """
    if not strict:
        gpt_model = gpt(model)
        stand_in = gpt_model or gpt(OFFLINE)
        assert stand_in is not None
        return replace(stand_in, id=gpt_model.id if gpt_model else model, max_output=ANY_OUTPUT, max_tokens=True)
    plain = STAND_IN if model == OFFLINE else plain_id(model)
    if not _NAME.fullmatch(plain):
        return None
    match = _VERSION.match(plain)
    version = (int(match[1]), int(match[2] or 0)) if match else (0, 0)
    series = plain.startswith("o")
    facts = card(OFFLINE if model == OFFLINE else plain)
    reasons = series or (version >= (5, 0) and "chat" not in plain) or plain.startswith("codex")
    return Gpt(
        id=plain,
        window=facts.window or 128_000,
        max_output=facts.max_output or MAX_OUTPUT,
        reasons=reasons,
        max_tokens=not reasons,
        fixed=series or (version == (5, 0) and "chat" not in plain),
        breakpoints=version >= (5, 6),
        all_turns=version >= (5, 6),
        system_role=not plain.startswith(("o1-mini", "o1-preview")),
    )


def openai_models() -> Json:
    return {"object": "list", "data": [openai_model(id_) for id_ in (OFFLINE, *KNOWN)]}


def openai_model(id_: str, strict: bool = True) -> dict[str, Json] | None:
    """One model; None if `strict` and the id is not listed."""
    if strict and id_ not in (OFFLINE, *KNOWN):
        return None
    owner = "ctxtui-simulated" if id_ in KNOWN else "ctxtui"
    return {"id": id_, "object": "model", "created": 0, "owned_by": owner}
