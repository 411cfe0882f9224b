"""Before a long run: where the context is heading, what that costs, what a compaction would eat.

Also the smallest set of edits that keeps the run below the usable window, and the session under other cache markers.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Sequence

from msgspec.structs import replace

from ctxtui.analysis.book import Book
from ctxtui.analysis.cache.marker_trials import Placing, placing, taught
from ctxtui.analysis.cache.misses import misses_of
from ctxtui.analysis.call_choice import ChosenCall
from ctxtui.analysis.context_window import context_window
from ctxtui.analysis.figures import block_figures
from ctxtui.analysis.growth.projection import Instruction, Outlook, Preflight, compacts_at, limit, outlook
from ctxtui.analysis.short_names import first_words
from ctxtui.core.block import HEADER
from ctxtui.core.block_content import read
from ctxtui.core.call import Call
from ctxtui.core.category import CATEGORIES
from ctxtui.core.edit import Edit
from ctxtui.core.session import Session
from ctxtui.core.turns import turns_of
from ctxtui.core.usage import Usage
from ctxtui.curation.policies.builtin import budget
from ctxtui.curation.policies.policy import Step
from ctxtui.curation.policies.risk import risk_of
from ctxtui.curation.price.advice import Smallest
from ctxtui.pricing.price import PriceTable, price_call
from ctxtui.services.config.policy_registry import every_policy
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.accounts import account
from ctxtui.services.counting.books import cached_by
from ctxtui.services.counting.counting import Counter
from ctxtui.services.editing.curate import curated
from ctxtui.services.lab.marker_costs import in_the_lab, marker_rates

_STAYS = frozenset({"system", "tools", "not_recorded", "reattached"})
"""Categories that a client's compaction leaves: they are no part of the conversation."""


def preflight(book: Book, chosen: ChosenCall, turns: int, usable_share: float, prices: PriceTable) -> Preflight:
    """The next `turns` turns of the thread of `chosen`; everything in `book` must be counted."""
    call, thread = chosen.call, chosen.thread
    window = context_window(book, call, usable_share)

    def usd(usage: Usage) -> float | None:
        # Whole, whatever is known of that call's own answer.
        like = replace(call, usage=replace(usage, output_final=True), stop_reason="")
        cost = price_call(like, prices)
        return None if cost is None else cost.usd

    missed = len(misses_of(book, cached_by(book)).of(thread))
    seen = outlook(book, thread, turns, window.window, usd, missed)
    at = compacts_at(book, thread, window)
    eaten, asked = _eaten(book, call)
    return Preflight(
        outlook=seen,
        window=window,
        usable=limit(window.usable, "setting", seen.context, seen.pace) if window.usable else None,
        compaction=limit(*at, seen.context, seen.pace) if at else None,
        eaten=eaten,
        asked=asked,
        partial=sum(one.is_partial for one in book.session.thread_calls(thread)),
    )


def _eaten(book: Book, call: Call) -> tuple[dict[str, int], tuple[Instruction, ...]]:
    tree = book.session.tree
    eaten: dict[str, int] = {}
    asked, turns = [], turns_of(tree, book.session.thread_calls(call.thread))
    for figure in block_figures(book, call):
        if figure.category in _STAYS or not figure.read or figure.block.kind == HEADER:
            continue
        eaten[figure.category] = eaten.get(figure.category, 0) + figure.tokens
        node = tree[figure.node]
        if figure.category == "user" and node.place.mark == "":
            asked.append(
                Instruction(
                    turns.number_of(node.id), figure.tokens, first_words(read(figure.block).text), figure.block.digest
                )
            )
    order = {name: n for n, name in enumerate(CATEGORIES)}
    return dict(sorted(eaten.items(), key=lambda one: order.get(one[0], len(order)))), tuple(asked)


def placings(session: Session, counter: Counter, settings: Settings) -> list[Placing]:
    """Every thread of `session` that other markers can be tried on, at list prices where they are known, by what the
    lab finds of them."""
    counted = account(session, counter, settings)
    book = counted.book
    rules, rates = cached_by(book), marker_rates(counted.table)
    prompts = taught(book, rules)
    found = (placing(book, rules, rates, thread, prompts) for thread in session.order)
    return in_the_lab(counted, [one for one in found if one is not None])


LEAST = 0.25
"""The share of the usable window that no set of edits goes below: something must be left to go on from."""


def smallest(
    book: Book,
    counter: Counter,
    chosen: ChosenCall,
    seen: Outlook,
    usable: int,
    prices: PriceTable,
    edits: Sequence[Edit] = (),
) -> Smallest | None:
    """What to take out beside the `edits` that are applied, so that the turns of `seen` stay below `usable` tokens;
    None where nothing need be done, nothing tells how the context grows, or little is there to take out. Everything in
    `book` must be counted."""
    if seen.after is None or seen.after.mid <= usable:
        return None
    target = max(round(usable * LEAST), round(usable - max(0.0, seen.after.mid - seen.context)))
    if seen.context <= target:
        return None
    steps = (Step(every_policy()[budget.NAME], {"target": target}),)
    found = curated(book, counter, chosen, steps=steps, edits=edits, under=edits, after=True, prices=prices)
    tag = found.tag
    moment = tag.moments[tag.cheapest] if tag.moments else None
    return Smallest(
        kinds=dict(Tally(edit.kind for edit in found.made)),
        risk=risk_of(found.context, found.made),
        before=tag.before,
        after=tag.after,
        target=target,
        moment=moment.name if moment else "",
        once=moment.once if moment else None,
        per_call=moment.per_call if moment else None,
        quoted=len(tag.quotes),
    )
