"""Other cache markers as the lab has them: what each strategy saves is the same figure here and in the findings."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from ctxtui.analysis.cache.marker_trials import Placing
from ctxtui.analysis.lab.on_record import NOT_TRIED, UnderMarkers, on_record
from ctxtui.analysis.lab.placed_marks import spelled
from ctxtui.analysis.lab.variant import Variant, VariantRun
from ctxtui.analysis.lab.variant_pass import Bench, simulated_usd
from ctxtui.cache.optimal_markers import MarkerRates
from ctxtui.core.call import ANSWER_LEAST, Call
from ctxtui.pricing.price import PriceTable, call_rates
from ctxtui.services.counting.accounts import Account
from ctxtui.services.counting.books import cached_by
from ctxtui.services.lab.experiment import charges, run


def marker_rates(table: PriceTable) -> Callable[[Call], MarkerRates | None]:
    """What a call's tokens cost under its markers; None where no price is known."""

    def rates(call: Call) -> MarkerRates | None:
        known = call_rates(call, table)
        if known is None:
            return None
        return MarkerRates(known.fresh, known.read, {300.0: known.write_5m, 3600.0: known.write_1h})

    return rates


def in_the_lab(bench: Bench, found: Sequence[Placing]) -> list[Placing]:
    """`found`, what its markers cost and what others would, by going through the recording with each of them in one
    simulated cache. The least of all keeps its distance from the best strategy. Where no price is known, as it was."""
    names = dict.fromkeys(tried.name for one in found if not one.relative for tried in one.tried)
    if not names:
        return list(found)
    under = _run(bench, [spelled(name) for name in names])
    by_name = {name: under.by[spelled(name)] for name in names}
    return [_tried(bench, one, under.own, by_name) for one in found]


def under_markers(account: Account, names: Sequence[str]) -> UnderMarkers:
    """The recording with the markers of each strategy in `names`, by the lab."""
    if not names:
        return NOT_TRIED
    table, costs = account.table, account.costs
    return _run(Bench(account.book, cached_by(account.book), charges(table), costs, account.usable_share), names)


def _run(bench: Bench, names: Sequence[str]) -> UnderMarkers:
    runs = run(bench, [Variant(), *(Variant(cache=name) for name in names)])
    own, *others = (on_record(bench, runs[0], one) for one in runs)
    return UnderMarkers(own, dict(zip(names, others, strict=True)))


def _tried(bench: Bench, one: Placing, own: VariantRun, others: dict[str, VariantRun]) -> Placing:
    base = _input_cost(bench, own, one)
    costs = {tried.name: _input_cost(bench, others[tried.name], one) for tried in one.tried if not one.relative}
    known = {name: cost for name, cost in costs.items() if cost is not None}
    if base is None or not known or len(known) < len(one.tried):
        return one
    made = [
        dataclasses.replace(tried, cost=known[tried.name], read=_read_share(others[tried.name], one.thread))
        for tried in one.tried
    ]
    made.sort(key=lambda tried: tried.cost)
    least = min(one.own, *(tried.cost for tried in one.tried))
    share = min(base, made[0].cost) / least if least > 0 else 1.0
    plan = one.plan._replace(cost=one.plan.cost * share, bound=one.plan.bound * share)
    return dataclasses.replace(one, own=base, tried=tuple(made), plan=plan)


def _input_cost(bench: Bench, ran: VariantRun, found: Placing) -> float | None:
    """USD of the input of the calls of `found`; None where one's price is not known."""
    total, tried = 0.0, {call.id: call.usage for call in ran.calls}
    for call in found.calls:
        # What cannot be gone through is as it was.
        usage = tried.get(call.id, call.usage)
        bare = replace(call, extra={key: value for key, value in call.extra.items() if key != ANSWER_LEAST})
        usd = simulated_usd(bench, bare, replace(usage, output=0, reasoning=0)) if usage is not None else None
        if usd is None:
            return None
        total += usd
    return total


def _read_share(ran: VariantRun, thread: str) -> float:
    calls = [call for call in ran.calls if call.thread == thread]
    return sum(call.read or 0 for call in calls) / max(1, sum(call.context for call in calls))
