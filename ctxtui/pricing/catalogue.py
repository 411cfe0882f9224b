"""Which models of a provider the price library knows, newest families as it names them."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple


class Listed(NamedTuple):
    """A model of the price library: its id, and its window in tokens."""

    id: str
    window: int


@cache
def models_of(provider: str) -> tuple[Listed, ...]:
    """The models with a known window that the price library has of `provider` (its id there: ``anthropic``,
    ``openai``), by name; none for a provider that it does not know."""
    from genai_prices.data_snapshot import get_snapshot

    for one in get_snapshot().providers:
        if one.id == provider:
            known = [Listed(model.id, model.context_window) for model in one.models if model.context_window]
            return tuple(sorted(known))
    return ()
