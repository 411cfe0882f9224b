"""One call's input as money and tokens: what was carried, what the cache had lost, what was sent for the first time."""

from __future__ import annotations

from typing import Final, NamedTuple

from ctxtui.analysis.money.resent import Resent
from ctxtui.core.usage import Usage
from ctxtui.pricing.price import Cost


class Sum(NamedTuple):
    """Money (USD) and tokens of one part."""

    usd: float = 0.0
    tokens: int = 0

    def plus(self, usd: float, tokens: int) -> Sum:
        """With so much more."""
        return Sum(self.usd + usd, self.tokens + tokens)


NOTHING: Final = Sum()


class InputSplit(NamedTuple):
    """One call's input as money and tokens: carried, rewritten, sent first."""

    carry: Sum
    rewrite: Sum
    first: Sum


def split_of(usage: Usage, cost: Cost, resent: Resent, lost: int) -> InputSplit:
    """A call's input split by what was `resent` and how much of that the cache had `lost`; the parts add up to the
    input's cost. What was read comes first in the context, then what was written, then what was neither."""
    read, written = usage.cache_read, usage.cache_write
    kept = max(resent.kept, read)
    again = kept - read
    moved = min(resent.moved, usage.input - kept)
    cheap = min(again, written)
    rates = (cost.write / written if written else 0.0, cost.fresh / usage.fresh if usage.fresh else 0.0)
    again_usd = cheap * rates[0] + (again - cheap) * rates[1]
    rest, rest_usd = usage.input - kept, cost.write + cost.fresh - again_usd
    moved_usd = rest_usd * moved / rest if rest else 0.0
    unread, unread_usd = again + moved, again_usd + moved_usd
    lost = min(lost, unread)
    lost_usd = unread_usd * lost / unread if unread else 0.0
    return InputSplit(
        Sum(cost.read + unread_usd - lost_usd, read + unread - lost),
        Sum(lost_usd, lost),
        Sum(rest_usd - moved_usd, rest - moved),
    )
