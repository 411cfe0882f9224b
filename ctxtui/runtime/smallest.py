"""The smallest set of edits that keeps a long run below the usable window."""

from __future__ import annotations

from dataclasses import dataclass

from ctxtui.analysis.book import Book
from ctxtui.analysis.call_choice import Chosen
from ctxtui.analysis.growth.projection import Outlook
from ctxtui.curation.policies.budget import NAME
from ctxtui.curation.policies.profile import single
from ctxtui.pricing.price import PriceTable
from ctxtui.runtime.counting import Counter
from ctxtui.runtime.curating import curated

LEAST = 0.25
"""The share of the usable window that no set of edits goes below: something must be left to go on from."""


@dataclass(frozen=True, slots=True)
class Smallest:
    """A set of edits: how many of each kind, tokens `before` and `after`, the `target` that was to be reached, USD
    more `once` if it is applied at the cheapest `moment`, and for every later call (None: not known)."""

    kinds: dict[str, int]
    before: int
    after: int
    target: int
    moment: str
    once: float | None
    per_call: float | None
    quoted: int

    @property
    def reached(self) -> bool:
        """Whether the target is reached."""
        return self.after <= self.target


def smallest(
    book: Book, counter: Counter, chosen: Chosen, seen: Outlook, usable: int, prices: PriceTable
) -> Smallest | None:
    """What to take out now so that the turns of `seen` stay below `usable` tokens; None where nothing need be done,
    nothing tells how the context grows, or little is there to take out. Everything in `book` must be counted."""
    if seen.growth is None or seen.context + seen.ahead * seen.growth.mid <= usable:
        return None
    target = max(round(usable * LEAST), round(usable - seen.ahead * max(0.0, seen.growth.mid)))
    if seen.context <= target:
        return None
    steps = (single(NAME, {"target": target}),)
    found = curated(book, counter, chosen, steps=steps, after=True, prices=prices)
    kinds: dict[str, int] = {}
    for edit in found.made:
        kinds[edit.kind] = kinds.get(edit.kind, 0) + 1
    tag = found.tag
    moment = tag.moments[tag.cheapest] if tag.moments else None
    return Smallest(
        kinds,
        tag.before,
        tag.after,
        target,
        moment.name if moment else "",
        moment.once if moment else None,
        moment.per_call if moment else None,
        len(tag.quotes),
    )
