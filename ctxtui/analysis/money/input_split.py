"""Splits cost and tokens of a call's input: carried, lost from the cache, new."""

from __future__ import annotations

from typing import Final, NamedTuple

from ctxtui.analysis.money.resent import Resent
from ctxtui.core.usage import Usage
from ctxtui.pricing.price import Cost


class CostSum(NamedTuple):
    """Cost (USD) and tokens of one part."""

    usd: float = 0.0
    tokens: int = 0

    def plus(self, usd: float, tokens: int) -> CostSum:
        return CostSum(self.usd + usd, self.tokens + tokens)


NO_COST: Final = CostSum()


class InputSplit(NamedTuple):
    """Cost and tokens of one call's input: carried, rewritten, sent first."""

    carry: CostSum
    rewrite: CostSum
    first: CostSum


def split_input(usage: Usage, cost: Cost, resent: Resent, lost: int) -> InputSplit:
    """Split a call's input into carried, rewritten and first sent.

    The parts add up to the input's cost. `resent` are the tokens sent before; `lost` of them were in the cache and not
    read from it.
    """
    read, written = usage.cache_read, usage.cache_write
    cached = max(resent.prefix_tokens, read)
    resent_fresh = cached - read
    moved = min(resent.moved, usage.input - cached)
    cheap = min(resent_fresh, written)
    rates = (cost.write / written if written else 0.0, cost.fresh / usage.fresh if usage.fresh else 0.0)
    again_usd = cheap * rates[0] + (resent_fresh - cheap) * rates[1]
    first_sent, rest_usd = usage.input - cached, cost.write + cost.fresh - again_usd
    moved_usd = rest_usd * moved / first_sent if first_sent else 0.0
    unread, unread_usd = resent_fresh + moved, again_usd + moved_usd
    lost = min(lost, unread)
    lost_usd = unread_usd * lost / unread if unread else 0.0
    return InputSplit(
        CostSum(cost.read + unread_usd - lost_usd, read + unread - lost),
        CostSum(lost_usd, lost),
        CostSum(rest_usd - moved_usd, first_sent - moved),
    )
