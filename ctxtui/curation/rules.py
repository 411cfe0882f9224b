"""What a provider asks of a request beyond its JSON's shape, by dialect and model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ctxtui.wire.grammars import ANTHROPIC

if TYPE_CHECKING:
    from ctxtui.tokens.models import ModelCard

MOST_MARKERS: Final = 4
"""Cache markers that one Anthropic request may carry (facts §2)."""


@dataclass(frozen=True, slots=True)
class Rules:
    """`starts_with_user`: the first message must be the user's. `ends_with_user`: the last must not be the
    assistant's. `binds_thinking`: each thinking block is bound to everything before it, so that an earlier change
    costs all later thinking. `keeps_last_thinking`: thinking in the latest assistant message must stay as it is."""

    dialect: str = ANTHROPIC
    starts_with_user: bool = True
    ends_with_user: bool = True
    binds_thinking: bool = False
    keeps_last_thinking: bool = True


def rules_for(dialect: str, card: ModelCard | None = None) -> Rules:
    """The rules of `dialect` for the model of `card`; without one those of a model that binds nothing."""
    ours = dialect == ANTHROPIC
    return Rules(dialect, ours, ours, ours and card is not None and card.binds_thinking, ours)
