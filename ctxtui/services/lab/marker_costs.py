"""Other cache markers as the lab has them: what each strategy saves is the same figure here and in the findings."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from ctxtui.analysis.cache.marker_trials import MarkerTrials
from ctxtui.analysis.lab.on_record import NO_MARKER_RUNS, MarkerRuns, apply_to_record
from ctxtui.analysis.lab.placed_markers import spell_name
from ctxtui.analysis.lab.variant import Variant, VariantRun
from ctxtui.cache.optimal_markers import MarkerRates
from ctxtui.core.call import Call
from ctxtui.pricing.price import PriceTable, rates_for_call
from ctxtui.services.counting.accounts import Account
from ctxtui.services.lab.experiment import bench_for, run


def marker_rates(table: PriceTable) -> Callable[[Call], MarkerRates | None]:
    """What a call's tokens cost under its markers; None where no price is known."""

    def rates(call: Call) -> MarkerRates | None:
        known = rates_for_call(call, table)
        if known is None:
            return None
        return MarkerRates(known.fresh, known.read, {300.0: known.write_5m, 3600.0: known.write_1h})

    return rates


def in_the_lab(account: Account, found: Sequence[MarkerTrials]) -> list[MarkerTrials]:
    """`found`, what its markers cost and what others would, by going through the recording with each of them in one
    simulated cache. The least of all keeps its distance from the best strategy. Where no price is known, as it was."""
    names = dict.fromkeys(tried.name for one in found if not one.relative for tried in one.tried)
    if not names:
        return list(found)
    under = under_markers(account, [spell_name(name) for name in names])
    return [_tried(one, under) for one in found]


def under_markers(account: Account, names: Sequence[str]) -> MarkerRuns:
    """The recording with the markers of each strategy in `names`, by the lab."""
    if not names:
        return NO_MARKER_RUNS
    bench = bench_for(account)
    runs = run(bench, [Variant(), *(Variant(cache=name) for name in names)])
    own, *others = (apply_to_record(bench, runs[0], one) for one in runs)
    return MarkerRuns(own, dict(zip(names, others, strict=True)))


def _tried(one: MarkerTrials, under: MarkerRuns) -> MarkerTrials:
    made = []
    for tried in one.tried if not one.relative else ():
        cache = spell_name(tried.name)
        calls = under.edited_calls(cache, one.calls)
        if calls is None or calls.usd is None or calls.partial:
            return one
        read = _read_share(under.by[cache], one.thread)
        made.append(dataclasses.replace(tried, cost=one.paid + calls.usd, read=read))
    if not made:
        return one
    made.sort(key=lambda tried: tried.cost)
    least = min(one.own, *(tried.cost for tried in one.tried))
    share = min(one.paid, made[0].cost) / least if least > 0 else 1.0
    plan = one.plan._replace(cost=one.plan.cost * share, bound=one.plan.bound * share)
    return dataclasses.replace(one, own=one.paid, tried=tuple(made), plan=plan)


def _read_share(ran: VariantRun, thread: str) -> float:
    calls = [call for call in ran.calls if call.thread == thread]
    return sum(call.read or 0 for call in calls) / max(1, sum(call.context for call in calls))
