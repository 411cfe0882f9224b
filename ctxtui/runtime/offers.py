"""The models that a chat may go on with: those that the provider lists, and those that the price list knows of it."""

from __future__ import annotations

from typing import NamedTuple

from ctxtui.pricing.rates import rates
from ctxtui.pricing.table import PriceTable, models_of
from ctxtui.runtime.packaged import model_table
from ctxtui.runtime.partner import Partner


class Offer(NamedTuple):
    """A model: its `window` in tokens (0: not known), USD per million tokens of `fresh` input and of `output` (None:
    not known), and whether the provider itself `listed` it."""

    id: str
    window: int
    fresh: float | None
    output: float | None
    listed: bool


def offers(partner: Partner, table: PriceTable) -> list[Offer]:
    """What `partner` can go on with, its present model first. Takes a moment: the price library is loaded."""
    known = {} if partner.endpoint.local else dict(models_of(partner.endpoint.name))
    own = dict.fromkeys((partner.model, *partner.models))
    return [_offer(name, partner, known, table, listed=name in own) for name in dict.fromkeys((*own, *known))]


def _offer(name: str, partner: Partner, known: dict[str, int], table: PriceTable, *, listed: bool) -> Offer:
    own = partner.window if name == partner.model else 0
    window = own or model_table().card(name).window or known.get(name, 0)
    found = None if partner.endpoint.local else rates(name, partner.endpoint.name, table=table)
    if found is None:
        return Offer(name, window, None, None, listed)
    return Offer(name, window, found.fresh * 1e6, found.output * 1e6, listed)
