"""Rules of a provider beyond the shape of a request's JSON, by dialect and model."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from ctxtui.tokens.models import ModelCard
from ctxtui.wire.grammar import ANTHROPIC, GOOGLE

MAX_MARKERS: Final = 4
"""Maximum cache breakpoints in one Anthropic request (facts §2)."""
BINDING_BETA: Final = "thinking-binding-controls-2026-08-01"
"""Beta header with which a request may ask to drop thinking that does not fit (facts §1)."""


class ProviderRules(Struct, frozen=True):
    """Rules for the messages of a request.

    `starts_with_user`: the first message must be the user's. `ends_with_user`: the last must not be the assistant's.
    `binds_thinking`: each thinking block is bound to everything before it, so that an earlier change costs all later
    thinking: it is stripped, or with `drops_blocks` left for the provider to drop (the request says so, and needs the
    beta `BINDING_BETA`). `keeps_last_thinking`: thinking in the latest assistant message must not change.
    """

    dialect: str = ANTHROPIC
    starts_with_user: bool = True
    ends_with_user: bool = True
    binds_thinking: bool = False
    keeps_last_thinking: bool = True
    drops_blocks: bool = False


def rules_for(dialect: str, card: ModelCard | None = None, *, drops_blocks: bool = False) -> ProviderRules:
    """The rules of `dialect` for the model of `card`; without a card, those of a model that binds nothing."""
    ours = dialect == ANTHROPIC
    binds = ours and card is not None and card.binds_thinking
    # Google refuses a conversation that begins with a call.
    starts_with_user = dialect in (ANTHROPIC, GOOGLE)
    return ProviderRules(dialect, starts_with_user, ours, binds, ours, drops_blocks and binds)
