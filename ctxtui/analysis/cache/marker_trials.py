"""Input cost of a thread under other cache markers: per strategy, and the best plan.

A strategy is a rule for the positions of cache markers in a request. The best plan knows all pauses, so no client can
reach it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from ctxtui.analysis.book import Book
from ctxtui.analysis.cache.client_behaviour import sent_at
from ctxtui.analysis.cache.prompts import CachePrompts
from ctxtui.analysis.forecast import Forecaster
from ctxtui.cache.marker_placement import (
    PREFIX_STRATEGIES,
    STRATEGIES,
    KnownEnds,
    PlacementRequest,
    Strategy,
    markable_at,
    static_end,
)
from ctxtui.cache.marker_value import MarkerValue, evaluate_markers
from ctxtui.cache.optimal_markers import MarkerPlan, MarkerRates, TimedPrompt, relative_rates, simulate_cost, solve
from ctxtui.cache.outcome import CacheOutcome
from ctxtui.cache.prompt import CacheMarker
from ctxtui.cache.rules import CacheRules
from ctxtui.cache.simulate import Simulator
from ctxtui.core.call import Call
from ctxtui.core.tree import ROOT

MIN_CALLS = 2
"""Calls needed for comparing markers."""


@dataclass(frozen=True, slots=True)
class StrategyTrial:
    """A thread's input cost under one strategy, in the unit of `MarkerTrials`.

    `read_share`: of the input (0..1).
    """

    name: str
    description: str
    cost: float
    read_share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkerTrials:
    """One thread's calls under other markers.

    Costs are of input alone, in USD. If `relative`, the price of at least one call is not known, and they are
    multiples of the price of one fresh token.
    - `calls`: the calls that are compared (see `comparable_calls`).
    - `paid`: the cost of their recorded usage at the same rates.
    - `own`: the cost with the client's own markers (assumed where not recorded), simulated like the others; `paid` once
      the lab has priced them.
    - `strategy_trials`: the cost with each strategy, the cheapest first.
    - `plan`: the cheapest markers with all pauses known; the minimum only if `plan.exact`, else `plan.bound` is a lower
      bound.
    - `markers`: the value of each entry that the client's markers wrote; `inferred`: those of no call are recorded.
    - `static`: system prompt or tools are recorded.
    """

    thread: str
    calls: tuple[Call, ...]
    paid: float
    own: float
    strategy_trials: tuple[StrategyTrial, ...]
    relative: bool
    plan: MarkerPlan
    markers: tuple[MarkerValue, ...]
    inferred: bool
    static: bool


def try_markers(
    book: Book,
    rules: Callable[[Call], CacheRules],
    rates: Callable[[Call], MarkerRates | None],
    thread: str,
    prompts: CachePrompts | None = None,
) -> MarkerTrials | None:
    """Compare the calls of `thread` under each strategy, the best plan and the client's markers.

    None if fewer than `MIN_CALLS` calls can be compared. Everything in `book` must be counted. `prompts` is the result
    of `learnt_prompts`, if it is already computed.
    """
    prompts = prompts or learnt_prompts(book, rules)
    calls = comparable_calls(book, rules, thread)
    if len(calls) < MIN_CALLS:
        return None
    rates_known = [price for call in calls if (price := rates(call)) is not None]
    priced = len(rates_known) == len(calls)
    prices = rates_known if priced else [relative_rates(rules(call)) for call in calls]
    tree = book.session.tree
    static = static_end(tree, calls[-1].sent_head) != ROOT
    timed = [
        TimedPrompt(prompts.prompt(call, _reported_input(call), _assumed_life(call)), sent_at(call) or 0.0, price)
        for call, price in zip(calls, prices, strict=True)
    ]
    strategy_trials = [
        _make_trial(strategy, *simulate_cost(timed, markers_by_strategy(book, prompts, calls, timed, strategy)))
        for strategy in STRATEGIES
        if static or strategy.name not in PREFIX_STRATEGIES
    ]
    own_cost, outcomes = simulate_cost(timed, [timed_prompt.prompt.markers for timed_prompt in timed])
    return MarkerTrials(
        thread=thread,
        calls=tuple(calls),
        paid=sum(_recorded_cost(call, price) for call, price in zip(calls, prices, strict=True)),
        own=own_cost,
        strategy_trials=tuple(sorted(strategy_trials, key=lambda trial: trial.cost)),
        relative=not priced,
        plan=solve(timed, lambda node: markable_at(tree, node) == node),
        markers=tuple(evaluate_markers(outcomes, prices)),
        inferred=all(prompts.markers(call) is None for call in calls),
        static=static,
    )


def learnt_prompts(book: Book, rules: Callable[[Call], CacheRules]) -> CachePrompts:
    """The maker of a session's prompts, with the lengths of contexts from all reports."""
    inputs = Forecaster(book.session, book.cumulated, book.card)
    prompts = CachePrompts(book.session.tree, rules, book.cumulated, inputs)
    for call in list(book.session.calls.values()):
        if call.usage is not None:
            forecast = inputs.forecast(call)
            prompts.learn_report(call, first=forecast is None)
            inputs.learn(call, forecast)
    return prompts


def comparable_calls(book: Book, rules: Callable[[Call], CacheRules], thread: str) -> list[Call]:
    """Calls of a thread with a report and a time, whose provider caches at markers.

    Empty if times are not in order.
    """
    calls = [call for call in book.session.thread_calls(thread) if call.usage is not None and sent_at(call) is not None]
    calls = [call for call in calls if rules(call).mechanism.writes_at_markers]
    times = [sent_at(call) or 0.0 for call in calls]
    return calls if all(a <= b for a, b in pairwise(times)) else []


def markers_by_strategy(
    book: Book, prompts: CachePrompts, calls: Sequence[Call], timed: Sequence[TimedPrompt], strategy: Strategy
) -> list[tuple[CacheMarker, ...]]:
    """Markers that `strategy` sets on each call, given what its own markers have cached by then."""
    simulator, markers = Simulator(), []
    tree, known_ends = book.session.tree, KnownEnds()
    for call, timed_prompt in zip(calls, timed, strict=True):
        deepest_cached = partial(simulator.deepest_cached, timed_prompt.prompt, timed_prompt.at)
        request = PlacementRequest(
            tree, call.sent_head, timed_prompt.prompt.rules, deepest_cached, timed_prompt.prompt.tokens, known_ends
        )
        prompt = prompts.prompt(call, timed_prompt.prompt.total, "", markers=strategy.place(request))
        simulator.send(prompt, timed_prompt.at)
        markers.append(prompt.markers)
    return markers


def _make_trial(strategy: Strategy, cost: float, outcomes: Sequence[CacheOutcome]) -> StrategyTrial:
    total = sum(outcome.total for outcome in outcomes)
    return StrategyTrial(
        strategy.name, strategy.description, cost, sum(outcome.read for outcome in outcomes) / max(total, 1)
    )


def _assumed_life(call: Call) -> str:
    """Lifetime that a client without recorded markers is assumed to request ("": the default)."""
    return "1h" if call.usage is not None and call.usage.write_1h > call.usage.write_5m else ""


def _reported_input(call: Call) -> int:
    return call.usage.input if call.usage else 0


def _recorded_cost(call: Call, rates: MarkerRates) -> float:
    usage = call.usage
    if usage is None:
        return 0.0
    writes = {300.0: usage.write_5m, 3600.0: usage.write_1h}
    written = sum(rates.writes.get(life, rates.fresh) * tokens for life, tokens in writes.items())
    return rates.fresh * usage.fresh + rates.read * usage.cache_read + written
