"""Rules of a provider that the JSON of a request does not show, by dialect and model.

`apply` takes those that `rules_for` returns, and adds repairs so that they hold.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from ctxtui.tokens.models import ModelCard
from ctxtui.wire.grammar import ANTHROPIC, GOOGLE

MAX_MARKERS: Final = 4
"""Maximum cache breakpoints in one Anthropic request (facts §2); OpenAI writes at the latest four (facts §4)."""
BINDING_BETA: Final = "thinking-binding-controls-2026-08-01"
"""Beta header with which a request may ask to drop thinking that does not fit (facts §1)."""


class ProviderRules(Struct, frozen=True):
    """Rules for the messages of a request.

    - `starts_with_user`: the first message must be the user's.
    - `ends_with_user`: the last message must not be the assistant's.
    - `binds_thinking`: each thinking block is bound to everything before it: after an earlier change it is invalid, and
      a repair removes it.
    - `keeps_last_thinking`: the provider refuses a request with changed thinking in the latest assistant message.
    - `drops_blocks`: the request asks the provider to drop invalid thinking itself (beta `BINDING_BETA`).
    """

    dialect: str = ANTHROPIC
    starts_with_user: bool = True
    ends_with_user: bool = True
    binds_thinking: bool = False
    keeps_last_thinking: bool = True
    drops_blocks: bool = False


def rules_for(dialect: str, card: ModelCard | None = None, *, drops_blocks: bool = False) -> ProviderRules:
    """The rules of `dialect` for the model of `card`.

    Without a card, thinking counts as not bound.
    """
    is_anthropic = dialect == ANTHROPIC
    binds = is_anthropic and card is not None and card.binds_thinking
    # Google refuses a conversation that begins with a call.
    starts_with_user = dialect in (ANTHROPIC, GOOGLE)
    return ProviderRules(dialect, starts_with_user, is_anthropic, binds, is_anthropic, drops_blocks and binds)
