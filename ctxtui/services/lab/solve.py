"""Solvers over sessions: policies with settings, cache markers and lifetimes, and keeping a cache warm."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from ctxtui.analysis.cache.client_behaviour import sent_at
from ctxtui.analysis.lab.lab import Progress
from ctxtui.analysis.lab.report import LabRow, SessionLab, session_lab
from ctxtui.analysis.lab.solve import (
    FittedVariant,
    KeepWarm,
    Pauses,
    evaluate_pauses,
    fit_variants,
    keep_warm_break_even,
)
from ctxtui.analysis.lab.variant_pass import LabInputs
from ctxtui.cache.optimal_markers import MarkerRates, relative_rates
from ctxtui.core.call import Call
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.books import cache_rules_by_call
from ctxtui.services.counting.pricing import prices_for
from ctxtui.services.lab.experiment import run
from ctxtui.services.lab.marker_costs import marker_rates
from ctxtui.services.lab.variants import sought


class SolvedSession(NamedTuple):
    """One session: its lab, the break-evens of keeping its cache warm, and its own pauses against each."""

    lab: SessionLab
    warm: tuple[KeepWarm, ...]
    waited: tuple[Pauses, ...]
    priced: bool


class Solved(NamedTuple):
    """What is best for the sessions: a `policy` with its settings, and a `cache` strategy (None: cannot be told)."""

    sessions: tuple[SolvedSession, ...]
    policy: FittedVariant | None
    cache: FittedVariant | None


def tried(bench: LabInputs, name: str, settings: Settings, progress: Progress = lambda done, of: True) -> SolvedSession:
    """One session under everything that is sought among."""
    lab = session_lab(bench, run(bench, sought(), progress), name)
    session = bench.book.session
    calls = [call for call in session.calls.values() if call.usage is not None]
    if not calls:
        return SolvedSession(lab, (), (), False)
    last = calls[-1]
    rates = marker_rates(prices_for(settings))(last)
    used = rates if rates is not None else _relative(bench, last)
    warm = (
        keep_warm_break_even(cache_rules_by_call(bench.book)(last), used, last.usage.input if last.usage else 0)
        if used
        else []
    )
    waits = _waits(calls)
    waited = tuple(evaluate_pauses(waits, one, used) for one in warm) if used is not None else ()
    return SolvedSession(lab, tuple(warm), waited, rates is not None)


def solved(sessions: Sequence[SolvedSession]) -> Solved:
    """The best over all of them, each held out once."""
    labs = [one.lab for one in sessions if one.lab.rows]
    return Solved(
        tuple(sessions),
        fit_variants({str(n): _costs(lab, lambda row: row.cache == "recorded") for n, lab in enumerate(labs)}),
        fit_variants({str(n): _costs(lab, lambda row: row.policy == "as_recorded") for n, lab in enumerate(labs)}),
    )


def _costs(lab: SessionLab, wanted: Callable[[LabRow], bool]) -> dict[str, float]:
    """What each variant comes to as a multiple of what was recorded: money where it is known, else tokens sent."""
    own = lab.rows[0]
    priced = all(row.usd is not None for row in lab.rows) and bool(own.usd)
    base = (own.usd if priced else float(own.total)) or 1.0
    return {_name(row): ((row.usd or 0.0) if priced else row.total) / base for row in lab.rows if wanted(row)}


def _name(row: LabRow) -> str:
    given = " ".join(f"{key}={value}" for key, value in row.given.items())
    return row.cache if row.policy == "as_recorded" and row.cache != "recorded" else f"{row.policy} {given}".strip()


def _waits(calls: Sequence[Call]) -> list[tuple[float, int]]:
    """The pauses between the calls of each thread (seconds), with the tokens of the context before them."""
    by: dict[str, list[Call]] = {}
    for call in calls:
        by.setdefault(call.thread, []).append(call)
    found = []
    for own in by.values():
        for before, after in pairwise(own):
            start, end = sent_at(before), sent_at(after)
            if start is not None and end is not None and before.usage is not None:
                found.append((end - start, before.usage.input))
    return found


def _relative(bench: LabInputs, call: Call) -> MarkerRates | None:
    rules = bench.rules(call)
    return relative_rates(rules) if rules.mechanism.writes_at_markers else None
