"""The context window of a model.

Its source is the user, the running server, the model table, or the server's refusal.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec.structs import replace

from ctxtui.analysis.cache.truncated_prompt import fix_for
from ctxtui.analysis.context_window import usable_tokens
from ctxtui.core.errors import BadConfig
from ctxtui.services.chat.chat_model import ChatModel
from ctxtui.services.config.config import Config, Origin
from ctxtui.services.config.package_data import model_table
from ctxtui.services.config.settings import FIELDS, Settings
from ctxtui.services.config.window_checks import check_size, find_size, window_origin, window_setting

ASSUMED_WINDOW: Final = 4096
"""Tokens: the assumed window of a local server that reports none (facts §5)."""
ASSUMED_ORIGIN: Final = "assumed: the server does not report it"
REFUSAL_ORIGIN: Final = "the server's refusal"
MIN_CONTEXT: Final = 256
"""Tokens that the user's ``answer_tokens`` must leave in a window for the context."""
WINDOW_IN_ERROR: Final = re.compile(
    r"(?:maximum context length is |context window of |context size \(|n_ctx\W{1,3})(\d{1,12})(?!,?\d)", re.IGNORECASE
)
"""The window in a text with which a local server refuses a request that is too long."""
REQUESTED_IN_ERROR: Final = re.compile(r"(?:requested|resulted in|has|request) \(?(\d{1,12})", re.IGNORECASE)
"""The tokens of the refused request in such a text."""


def with_window(chat_model: ChatModel, config: Config) -> ChatModel:
    """Return `chat_model` with its window.

    It is the user's, else the server's, else the model table's, else, for a local server, an assumed one. Raises
    `BadConfig` if the user's window is larger than the model's, or ``answer_tokens`` leave no room; its default is cut.
    """
    settings = config.settings
    is_known = chat_model.window > 0 and chat_model.origin != ASSUMED_ORIGIN
    listed = chat_model.models.get(chat_model.model, 0)
    available = (chat_model.window if is_known else listed) or model_table().card(chat_model.model).window or 0
    name, requested = find_size(chat_model.model, settings.context_sizes)
    if requested:
        setting = window_setting(name, settings)
        place = _source_text(window_origin(name, config))
        check_size(chat_model.model, setting, requested, place, available)
        return replace(chat_model, window=requested, origin=place)
    is_own_limit = settings.answer_tokens != FIELDS["answer_tokens"].default
    if is_own_limit and settings.answer_tokens + MIN_CONTEXT > available > 0:
        raise BadConfig(
            f"answer_tokens = {settings.answer_tokens:,} leaves no room "
            f"in the {available:,} tokens of {chat_model.model}",
            place=_source_text(config.origins.get("answer_tokens")),
            way_out=f"set answer_tokens to {available // 4} or less",
        )
    if not available and chat_model.endpoint.local and not chat_model.is_offline:
        return replace(chat_model, window=ASSUMED_WINDOW, origin=ASSUMED_ORIGIN)
    origin = chat_model.origin if is_known else chat_model.endpoint.name if listed else ""
    return replace(chat_model, window=available, origin=origin or ("model table" if available else ""))


def change_model(chat_model: ChatModel, model: str, config: Config) -> ChatModel:
    """Return another `model` of the same endpoint. Raises what `with_window` raises."""
    return with_window(replace(chat_model, model=model, window=0, origin="", most_output=0), config)


def usable_tokens_of(chat_model: ChatModel, settings: Settings) -> int:
    """Usable tokens of the model's window; 0 if it is unknown."""
    card = model_table().card(chat_model.model)
    user_tokens = find_size(card.id, settings.usable_contexts)[1]
    window = chat_model.window or card.window or 0
    return usable_tokens(window, settings.usable_share, user_tokens)


def _source_text(origin: Origin | None) -> str:
    return origin.place if origin is not None else "settings"


def learn_window(chat_model: ChatModel, error: str, config: Config) -> tuple[ChatModel, str]:
    """Return the model with the window that a local refusal names, and `error` with a fix.

    A smaller window of the user stays. Both are unchanged if the refusal has no window, or the server is not local.
    """
    match = WINDOW_IN_ERROR.search(error)
    if match is None or not chat_model.endpoint.local or chat_model.is_offline:
        return chat_model, error
    window = int(match[1])
    requested = REQUESTED_IN_ERROR.search(error)
    fix = fix_for(chat_model.endpoint.kind, int(requested[1]) if requested is not None else window + 1)
    learned, message = replace(chat_model, window=window, origin=REFUSAL_ORIGIN), f"{error.rstrip()} Fix: {fix}"
    try:
        return with_window(learned, config), message
    except BadConfig as config_error:
        # The user's window is larger, or `answer_tokens` leaves no room: report that too, and use the real window.
        return learned, f"{message}; {config_error}"
