"""Effect that edits would have had on the tokens and cost of a thread's recorded calls.

A call is charged for its reported reads, writes and fresh input minus the freed tokens. The first call after the edits
reads only what the price tag leaves in the cache, and pays for the rest again.
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
from ctxtui.curation.policies.policy_context import PolicyContext
from ctxtui.curation.price.price_tag import NOW, PriceTag

CallCharge = Callable[[Usage, Call], float | None]
"""Gives the cost in USD of a recorded call if it had this usage; None if the price is unknown."""


class EditedCalls(Struct, frozen=True):
    """Calls as they would be under edits, from call number `first` (from 1) of the thread on.

    By call: `saved` are the tokens freed, `more` the extra cost in USD (negative: less, None: unknown). `more` is empty
    if costs are not computed.
    """

    first: int
    saved: tuple[int, ...]
    more: tuple[float | None, ...] = ()

    @property
    def usd(self) -> float | None:
        """Sum of the known extra costs in USD; None if none is known."""
        amounts = [usd for usd in self.more if usd is not None]
        return sum(amounts) if amounts else None

    @property
    def partial(self) -> bool:
        return None in self.more

    @property
    def tokens(self) -> int:
        return sum(self.saved)

    @property
    def calls(self) -> int:
        return len(self.saved)

    @property
    def affected_calls(self) -> int:
        return sum(map(bool, self.saved))


def charge_edited_calls(
    ledger: CostLedger,
    calls: Sequence[Call],
    freed: Mapping[int, int],
    charge: CallCharge | None,
    *,
    since: int = 0,
    left: Usage | None = None,
    scale: float = 1.0,
) -> EditedCalls:
    """Recompute the calls after the first `since`, with smaller blocks; `freed`: tokens by node.

    - `charge`: None: no costs.
    - `left`: the simulated usage of the first of these calls (None: it reads everything as before).
    - `scale`: charged tokens per counted one.
    """
    saved = [0] * (len(calls) - since)
    freed_by_part = [[0, 0, 0] for _ in saved]
    for node, tokens in freed.items():
        charged = round(tokens * scale)
        for start, stop, depth in ledger.read_with_depth(node, len(calls)):
            for index in range(max(start, since), stop):
                saved[index - since] += tokens
                freed_by_part[index - since][ledger.input_part(index, depth)] += charged
    if charge is None:
        return EditedCalls(since + 1, tuple(saved))
    lost = left if left is not None and freed_by_part and freed_by_part[0][0] else None
    more = [
        _extra_cost(call, freed_parts, charge, lost if number == 0 else None) if any(freed_parts) else 0.0
        for number, (call, freed_parts) in enumerate(zip(calls[since:], freed_by_part, strict=True))
    ]
    return EditedCalls(since + 1, tuple(saved), tuple(more))


def _extra_cost(call: Call, freed_parts: Sequence[int], charge: CallCharge, left: Usage | None) -> float | None:
    if call.usage is None:
        return None
    reduced = reduce_usage(call.usage, freed_parts, left)
    before, after = charge(call.usage, call), charge(reduced, call)
    return None if before is None or after is None else after - before


def reduce_usage(usage: Usage, freed_parts: Sequence[int], left: Usage | None = None) -> Usage:
    """Reduce `usage` by the tokens `freed_parts` of its reads, writes and fresh input.

    If `left` reads less than that, the difference is paid like most of the unread input in `left`.
    """
    remaining = [
        reported - freed_tokens_
        for reported, freed_tokens_ in zip((usage.cache_read, usage.cache_write, usage.fresh), freed_parts, strict=True)
    ]
    for part, beside in ((2, 1), (1, 0), (0, 1), (1, 2)):
        # Tokens beyond one part's report were in the next part.
        remaining[beside] += min(0, remaining[part])
        remaining[part] = max(0, remaining[part])
    read, write, fresh = remaining if usage.cache_write else (remaining[0], 0, remaining[1] + remaining[2])
    parts = {name: getattr(usage, name) * write // (usage.cache_write or 1) for name in WRITES}
    parts[max(parts, key=lambda name: parts[name])] += write - sum(parts.values())
    reduced = replace(usage, cache_read=read, fresh=max(0, fresh), cost=None, **parts)
    if left is None or left.cache_read >= read:
        return reduced
    member = max(WRITES, key=lambda name: getattr(left, name)) if left.cache_write else FRESH
    more = getattr(reduced, member) + read - left.cache_read
    return replace(reduced, **{"cache_read": left.cache_read, member: more})


def freed_tokens(here: PolicyContext, after: Applied) -> dict[int, int]:
    """Tokens freed under `after`, by raw position of `here`.

    Negative: added, by inserts at their position.
    """
    freed: dict[int, int] = {}
    for position in {*after.changes, *here.applied.changes}:
        change = after.changes.get(position)
        size = here.tokens(position) if change is None else 0 if change.after is None else here.count(change.after)
        freed[position] = here.size(position) - size
    for sign, applied in ((-1, after), (1, here.applied)):
        for insert in applied.inserts:
            tokens = sum(here.count(item.block) for item in insert.items)
            freed[insert.position] = freed.get(insert.position, 0) + sign * tokens
    return {position: tokens for position, tokens in sorted(freed.items()) if tokens}


class EditedThread(NamedTuple):
    """A thread's recorded calls, to be charged again under edits (`charge` None: tokens only)."""

    ledger: CostLedger
    calls: Sequence[Call]
    charge: CallCharge | None

    def calls_under(
        self, here: PolicyContext, after: Applied, tag: PriceTag | None, *, since: int = 0, until: int | None = None
    ) -> EditedCalls | None:
        """The calls after the first `since`, up to number `until`, under the edits of `after`.

        `tag`: the price of the edits for the context `here` (None: unknown). None if there is no call, or if the edits
        change nothing. Also None if they change thinking from the first call on: it must be sent back in its turn.
        """
        freed, calls = freed_tokens(here, after), self.calls[:until]
        if not freed or since >= len(calls) or (not since and not freed.keys().isdisjoint(here.context.thinking)):
            return None
        nodes = self._freed_by_node(here, freed)
        moments = tag.moments if tag is not None and since else ()
        usage_left = next((moment.usage for moment in moments if moment.name == NOW), None)
        # The tag is scaled to reports, in which a counted token may be less than one.
        freed_total = sum(freed.values())
        scale = max(0.0, (tag.forecast - tag.forecast_under) / freed_total) if tag is not None and freed_total else 1.0
        return charge_edited_calls(self.ledger, calls, nodes, self.charge, since=since, left=usage_left, scale=scale)

    def _freed_by_node(self, here: PolicyContext, freed: Mapping[int, int]) -> dict[int, int]:
        context, nodes = here.context, dict[int, int]()
        for position, tokens in freed.items():
            target = context.target(min(position, len(context) - 1))
            node = self.ledger.lifetimes.node_of(target.digest, target.occurrence + 1)
            if node is not None:
                nodes[node] = nodes.get(node, 0) + tokens
        return nodes
