"""What edits would have changed in the recorded calls of a thread, from one of them on: tokens and money of each.

Every call is charged by its own model's rates for what it was reported to read, write and send, less what it would not
have had; the ledger knows where in a report each block stands. The first that read past the edits reads only what the
price tag says is left, and pays for the rest anew: in calls that only go on these are the tag's prices, once and for
every later call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.analysis.money.ledger import CostLedger
from ctxtui.core.call import Call
from ctxtui.core.usage import FRESH, WRITES, Usage
from ctxtui.curation.apply.applied import Applied
from ctxtui.curation.policies.situation import PolicyContext
from ctxtui.curation.price.price_tag import NOW, PriceTag

CallCharge = Callable[[Usage, Call], float | None]
"""What a usage costs in USD at the terms of a recorded call; None where the price is not known."""


class EditedCalls(Struct, frozen=True):
    """Calls under edits, from number `first` (from 1) on: `saved` are the tokens that each would have had less, `more`
    the USD that it would have cost more (negative: less; None: not known); empty where no money is told."""

    first: int
    saved: tuple[int, ...]
    more: tuple[float | None, ...] = ()

    @property
    def usd(self) -> float | None:
        """USD that all of them would have cost more, as far as that is known."""
        known = [usd for usd in self.more if usd is not None]
        return sum(known) if known else None

    @property
    def partial(self) -> bool:
        """Whether of some of them that is not known."""
        return None in self.more

    @property
    def tokens(self) -> int:
        """What all of them would have had less together."""
        return sum(self.saved)

    @property
    def calls(self) -> int:
        """How many there are."""
        return len(self.saved)

    @property
    def holding(self) -> int:
        """In how many of them anything of what the edits change stood."""
        return sum(map(bool, self.saved))


def edited_calls(
    ledger: CostLedger,
    calls: Sequence[Call],
    freed: Mapping[int, int],
    charge: CallCharge | None,
    *,
    since: int = 0,
    left: Usage | None = None,
    scale: float = 1.0,
) -> EditedCalls:
    """The `calls` of the thread of `ledger` behind the first `since`, had the blocks of the nodes in `freed` been so
    many tokens smaller. `left` is what the cache simulator says that the first of them uses then (None: it reads all
    that it would have read), `charge` prices a usage (None: no money is told), and `scale` says how many tokens are
    charged for each that is counted."""
    saved = [0] * (len(calls) - since)
    gone = [[0, 0, 0] for _ in saved]
    for node, tokens in freed.items():
        charged = round(tokens * scale)
        for start, stop, depth in ledger.stood(node, len(calls)):
            for index in range(max(start, since), stop):
                saved[index - since] += tokens
                gone[index - since][ledger.part(index, depth)] += charged
    if charge is None:
        return EditedCalls(since + 1, tuple(saved))
    lost = left if left is not None and gone and gone[0][0] else None
    more = [
        _more(call, less, charge, lost if number == 0 else None) if any(less) else 0.0
        for number, (call, less) in enumerate(zip(calls[since:], gone, strict=True))
    ]
    return EditedCalls(since + 1, tuple(saved), tuple(more))


def _more(call: Call, gone: Sequence[int], charge: CallCharge, left: Usage | None) -> float | None:
    """What the call would have cost more (negative: less) without the tokens `gone` of what it read, wrote and sent."""
    if call.usage is None:
        return None
    under = under_edits(call.usage, gone, left)
    before, after = charge(call.usage, call), charge(under, call)
    return None if before is None or after is None else after - before


def under_edits(usage: Usage, gone: Sequence[int], left: Usage | None = None) -> Usage:
    """`usage` less the tokens `gone` of what was read, of what was written and of neither; no more is read than is
    `left` of the cache (None: all of it), and what else stands there is paid as most of that is which `left` reads
    not."""
    rest = [had - less for had, less in zip((usage.cache_read, usage.cache_write, usage.fresh), gone, strict=True)]
    for part, beside in ((2, 1), (1, 0), (0, 1), (1, 2)):
        # What is more than was told of one part stood in the next.
        rest[beside] += min(0, rest[part])
        rest[part] = max(0, rest[part])
    read, write, fresh = rest if usage.cache_write else (rest[0], 0, rest[1] + rest[2])
    parts = {name: getattr(usage, name) * write // (usage.cache_write or 1) for name in WRITES}
    parts[max(parts, key=lambda name: parts[name])] += write - sum(parts.values())
    under = replace(usage, cache_read=read, fresh=max(0, fresh), cost=None, **parts)
    if left is None or left.cache_read >= read:
        return under
    anew = max(WRITES, key=lambda name: getattr(left, name)) if left.cache_write else FRESH
    more = getattr(under, anew) + read - left.cache_read
    return replace(under, **{"cache_read": left.cache_read, anew: more})


def freed_by(here: PolicyContext, after: Applied) -> dict[int, int]:
    """The tokens that each raw position of `here` has less under `after` (negative: more), where it has any; what is
    put in counts where it stands."""
    found: dict[int, int] = {}
    for position in {*after.changes, *here.applied.changes}:
        change = after.changes.get(position)
        size = here.tokens(position) if change is None else 0 if change.after is None else here.count(change.after)
        found[position] = here.size(position) - size
    for sign, applied in ((-1, after), (1, here.applied)):
        for one in applied.inserts:
            tokens = sum(here.count(item.block) for item in one.items)
            found[one.position] = found.get(one.position, 0) + sign * tokens
    return {position: tokens for position, tokens in sorted(found.items()) if tokens}


class EditedThread(NamedTuple):
    """The `calls` of a thread with their `ledger`, and what usage costs (None: no price is known)."""

    ledger: CostLedger
    calls: Sequence[Call]
    charge: CallCharge | None

    def under(
        self, here: PolicyContext, after: Applied, tag: PriceTag | None, *, since: int = 0, until: int | None = None
    ) -> EditedCalls | None:
        """The calls behind the first `since`, up to number `until`, under the edits of `after`, whose price on the
        context `here` is `tag` (None: not known). What the `tag` says is left of the cache counts where the edits are
        made later than in the first call. None where there is no call, the edits change nothing, or thinking would
        have gone from the first call on: while its turn lasts it must be sent back."""
        freed, calls = freed_by(here, after), self.calls[:until]
        if not freed or since >= len(calls) or (not since and not freed.keys().isdisjoint(here.context.thinking)):
            return None
        nodes = self._nodes(here, freed)
        now = next((one for one in tag.moments if one.name == NOW), None) if tag is not None and since else None
        left = now.usage if now is not None else None
        # The tag goes by what reports make of the request, of which a token may be less than one that is counted.
        gone = sum(freed.values())
        scale = max(0.0, (tag.forecast - tag.forecast_under) / gone) if tag is not None and gone else 1.0
        return edited_calls(self.ledger, calls, nodes, self.charge, since=since, left=left, scale=scale)

    def _nodes(self, here: PolicyContext, freed: Mapping[int, int]) -> dict[int, int]:
        """`freed` by the nodes that the blocks have in the calls: those of a context under edits are others."""
        context, found = here.context, dict[int, int]()
        for position, tokens in freed.items():
            target = context.target(min(position, len(context) - 1))
            node = self.ledger.stays.node_of(target.digest, target.occurrence + 1)
            if node is not None:
                found[node] = found.get(node, 0) + tokens
        return found
