"""Costs of a recording with other cache markers, simulated as in the lab.

Findings and previews use them, so that they show the same savings as the lab.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from ctxtui.analysis.cache.marker_trials import MarkerTrials
from ctxtui.analysis.lab.lab import run_experiment
from ctxtui.analysis.lab.on_record import NO_MARKER_RUNS, MarkerRuns, apply_to_record
from ctxtui.analysis.lab.placed_markers import spell_name
from ctxtui.analysis.lab.variant import Variant, VariantRun
from ctxtui.cache.optimal_markers import MarkerRates
from ctxtui.core.call import Call
from ctxtui.pricing.price import rates_for_call
from ctxtui.pricing.table import PriceTable
from ctxtui.services.counting.accounts import Account
from ctxtui.services.lab.experiment import lab_inputs_of_account


def marker_rates(table: PriceTable) -> Callable[[Call], MarkerRates | None]:
    """A function that returns the rates of a call's markers; None without a known price."""

    def rates(call: Call) -> MarkerRates | None:
        call_rates = rates_for_call(call, table)
        if call_rates is None:
            return None
        return MarkerRates(call_rates.fresh, call_rates.read, {300.0: call_rates.write_5m, 3600.0: call_rates.write_1h})

    return rates


def price_in_lab(account: Account, trials: Sequence[MarkerTrials]) -> list[MarkerTrials]:
    """Price `trials` by running the recording with each set of markers in one simulated cache.

    The cost of the best plan keeps its ratio to the lowest cost tried. Unchanged without known prices.
    """
    names = dict.fromkeys(tried.name for trial in trials if not trial.relative for tried in trial.strategy_trials)
    if not names:
        return list(trials)
    marker_runs = run_marker_strategies(account, [spell_name(name) for name in names])
    return [_price_markers(trial, marker_runs) for trial in trials]


def run_marker_strategies(account: Account, names: Sequence[str]) -> MarkerRuns:
    """Run the recording under each of the cache strategies or lifetimes `names`."""
    if not names:
        return NO_MARKER_RUNS
    inputs = lab_inputs_of_account(account)
    runs = run_experiment(inputs, [Variant(), *(Variant(cache=name) for name in names)])
    recorded, *others = (apply_to_record(inputs, runs[0], run) for run in runs)
    return MarkerRuns(recorded, dict(zip(names, others, strict=True)))


def _price_markers(trial: MarkerTrials, marker_runs: MarkerRuns) -> MarkerTrials:
    priced = []
    for tried in trial.strategy_trials if not trial.relative else ():
        cache = spell_name(tried.name)
        calls = marker_runs.edited_calls(cache, trial.calls)
        if calls is None or calls.usd is None or calls.partial:
            return trial
        read_share = _read_share(marker_runs.by[cache], trial.thread)
        priced.append(dataclasses.replace(tried, cost=trial.paid + calls.usd, read_share=read_share))
    if not priced:
        return trial
    priced.sort(key=lambda tried: tried.cost)
    least = min(trial.own, *(tried.cost for tried in trial.strategy_trials))
    share = min(trial.paid, priced[0].cost) / least if least > 0 else 1.0
    plan = trial.plan._replace(cost=trial.plan.cost * share, bound=trial.plan.bound * share)
    return dataclasses.replace(trial, own=trial.paid, strategy_trials=tuple(priced), plan=plan)


def _read_share(ran: VariantRun, thread: str) -> float:
    calls = [call for call in ran.calls if call.thread == thread]
    return sum(call.read or 0 for call in calls) / max(1, sum(call.context for call in calls))
