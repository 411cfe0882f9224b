"""How much a model takes: by the user, the running server, the model table, or what a refusal says."""

from __future__ import annotations

import re
from typing import Final

from msgspec.structs import replace

from ctxtui.analysis.cache.truncated_prompt import fix_for
from ctxtui.core.errors import BadConfig
from ctxtui.services.chat.chat_model import ChatModel
from ctxtui.services.config.config import Config
from ctxtui.services.config.package_data import model_table
from ctxtui.services.config.window_checks import check_size, setting_of, size_of

ASSUMED: Final = 4096
"""Tokens: the window of a local server that tells none (facts §5)."""
UNTOLD: Final = "assumed: the server does not tell"
REFUSED: Final = "the server's refusal"
_SHORTEST: Final = 256
_TOLD: Final = re.compile(
    r"maximum context length is (\d+)|context window of (\d+)|context size \((\d+)|n_ctx\W{1,3}(\d+)", re.IGNORECASE
)
_ASKED: Final = re.compile(r"(?:requested|resulted in|has|request) \(?(\d+)", re.IGNORECASE)


def windowed(partner: ChatModel, config: Config) -> ChatModel:
    """`partner` with the window in force: the user's, else the running server's, else the model table's. Raises
    `BadConfig` where the user's is larger than the model takes."""
    settings = config.settings
    told = 0 if partner.origin == UNTOLD else partner.window
    known = told or model_table().card(partner.model).window or 0
    name, wanted = size_of(partner.model, settings.context_sizes)
    if wanted:
        setting = setting_of(name, settings)
        place = _place(config, setting)
        check_size(partner.model, setting, wanted, place, known)
        return replace(partner, window=wanted, origin=place)
    asked = config.origins.get("answer_tokens")
    if asked is not None and asked.kind != "default" and settings.answer_tokens + _SHORTEST > known > 0:
        raise BadConfig(
            f"answer_tokens = {settings.answer_tokens:,} leaves no room in the {known:,} tokens of {partner.model}",
            place=_place(config, "answer_tokens"),
            way_out=f"set answer_tokens to {known // 4} or less",
        )
    if not known and partner.endpoint.local and not partner.is_offline:
        return replace(partner, window=ASSUMED, origin=UNTOLD)
    return replace(partner, window=known, origin=partner.origin or ("model table" if known else ""))


def _place(config: Config, name: str) -> str:
    """Where a setting comes from: ``file:line``, a variable, a flag."""
    origin = config.origins.get(name)
    return origin.place or origin.kind if origin is not None else "settings"


def told_by(partner: ChatModel, error: str, config: Config) -> tuple[ChatModel, str]:
    """What a refusal of a local server says of its window: `partner` with it, and the `error` with the way out. Both as
    they were where it says nothing, or the server is not one of the user's own."""
    found = _TOLD.search(error)
    if found is None or not partner.endpoint.local or partner.is_offline:
        return partner, error
    window = int(next(group for group in found.groups() if group))
    asked = _ASKED.search(error)
    fix = fix_for(partner.endpoint.kind, int(asked[1]) if asked is not None else window + 1)
    learned, told = replace(partner, window=window, origin=REFUSED), f"{error.rstrip()} Fix: {fix}"
    try:
        return windowed(learned, config), told
    except BadConfig as wrong:
        # The settings ask for more than there is: that is said beside it, and what there is holds.
        return learned, f"{told}; {wrong}"
