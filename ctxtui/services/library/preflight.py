"""Outlook for the next turns of a session: context, cost, compaction, edits, markers.

Markers are the provider's fields for cache breakpoints.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Sequence

from ctxtui.analysis.book import Book
from ctxtui.analysis.cache.marker_trials import MarkerTrials, learnt_prompts, try_markers
from ctxtui.analysis.cache.miss_finder import session_misses
from ctxtui.analysis.call_choice import ChosenCall
from ctxtui.analysis.context_window import context_window
from ctxtui.analysis.figures import block_figures
from ctxtui.analysis.growth.projection import (
    Instruction,
    Outlook,
    Preflight,
    automatic_compaction,
    forecast_outlook,
    reach_limit,
)
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
from ctxtui.pricing.price import price_call, with_usage
from ctxtui.pricing.table import PriceTable
from ctxtui.services.config.policy_registry import load_policies
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.accounts import make_account
from ctxtui.services.counting.books import cache_rules_by_call
from ctxtui.services.counting.counting import Counter
from ctxtui.services.editing.curate import curate_context
from ctxtui.services.lab.marker_costs import marker_rates, price_in_lab

_KEPT_CATEGORIES = frozenset({"system", "tools", "not_recorded", "reattached"})
"""Categories that a client's compaction keeps, because they are not part of the conversation."""


def preflight(book: Book, chosen: ChosenCall, turns: int, usable_share: float, prices: PriceTable) -> Preflight:
    """The outlook for the next `turns` (or rounds, see `Outlook`) of the thread of `chosen`.

    Everything in `book` must be counted.
    """
    call, thread = chosen.call, chosen.thread
    window = context_window(book, call, usable_share)

    def usd(usage: Usage) -> float | None:
        # Without the web searches of `call`.
        cost = price_call(with_usage(call, usage), prices)
        return None if cost is None else cost.usd - cost.other

    miss_count = len(session_misses(book, cache_rules_by_call(book)).of_thread(thread))
    outlook = forecast_outlook(book, thread, turns, window.window, usd, miss_count)
    compaction_size = automatic_compaction(book, thread, window)
    removed, instructions = _find_removed_by_compaction(book, call)
    return Preflight(
        outlook=outlook,
        window=window,
        usable=reach_limit(window.usable, "setting", outlook.context, outlook.pace) if window.usable else None,
        compaction=reach_limit(*compaction_size, outlook.context, outlook.pace) if compaction_size else None,
        replaced=removed,
        instructions=instructions,
        partial=sum(call.is_partial for call in book.session.thread_calls(thread)),
    )


def _find_removed_by_compaction(book: Book, call: Call) -> tuple[dict[str, int], tuple[Instruction, ...]]:
    tree = book.session.tree
    removed: dict[str, int] = {}
    instructions, turns = [], turns_of(tree, book.session.thread_calls(call.thread))
    for figure in block_figures(book, call):
        if figure.category in _KEPT_CATEGORIES or not figure.read or figure.block.kind == HEADER:
            continue
        removed[figure.category] = removed.get(figure.category, 0) + figure.tokens
        node = tree[figure.node]
        if figure.category == "user" and node.place.mark == "":
            instructions.append(
                Instruction(
                    turns.number_of(node.id), figure.tokens, first_words(read(figure.block).text), figure.block.digest
                )
            )
    order = {name: n for n, name in enumerate(CATEGORIES)}
    return dict(sorted(removed.items(), key=lambda item: order.get(item[0], len(order)))), tuple(instructions)


def try_all_markers(session: Session, counter: Counter, settings: Settings) -> list[MarkerTrials]:
    """Try other markers on every thread of `session` that supports them."""
    counted = make_account(session, counter, settings)
    book = counted.book
    rules, rates = cache_rules_by_call(book), marker_rates(counted.table)
    prompts = learnt_prompts(book, rules)
    trials = (try_markers(book, rules, rates, thread, prompts) for thread in session.order)
    return price_in_lab(counted, [trial for trial in trials if trial is not None])


MIN_REMAINING_SHARE = 0.25
"""Share of the usable window below which edits do not aim."""


def smallest_edits(
    book: Book,
    counter: Counter,
    chosen: ChosenCall,
    outlook: Outlook,
    usable: int,
    prices: PriceTable,
    edits: Sequence[Edit] = (),
) -> Smallest | None:
    """Edits of the policy ``budget`` that make room for the turns of `outlook`.

    They leave the `usable` tokens less the growth of these turns, but not less than `MIN_REMAINING_SHARE` of `usable`.
    They are in addition to the applied `edits`. None if none is needed, the growth is unknown, or the context is that
    small already. Everything in `book` must be counted.
    """
    if outlook.after is None or outlook.after.mid <= usable:
        return None
    target = max(round(usable * MIN_REMAINING_SHARE), round(usable - max(0.0, outlook.after.mid - outlook.context)))
    if outlook.context <= target:
        return None
    steps = (Step(load_policies()[budget.NAME], {"target": target}),)
    curation = curate_context(book, counter, chosen, steps=steps, edits=edits, under=edits, after=True, prices=prices)
    tag = curation.tag
    moment = tag.moments[tag.cheapest] if tag.moments else None
    return Smallest(
        kinds=dict(Tally(edit.kind for edit in curation.policy_edits)),
        risk=risk_of(curation.context, curation.policy_edits),
        before=tag.before,
        after=tag.after,
        target=target,
        moment=moment.name if moment else "",
        once=moment.once if moment else None,
        per_call=moment.per_call if moment else None,
        quoted=len(tag.quotes),
    )
