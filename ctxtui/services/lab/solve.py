"""Finds the best policy settings, cache markers and lifetimes over sessions.

It also finds when keeping a cache warm pays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from ctxtui.analysis.cache.client_behaviour import sent_at
from ctxtui.analysis.lab.lab import Progress, run_experiment
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
from ctxtui.cache.optimal_markers import relative_rates
from ctxtui.core.call import Call
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.pricing import prices_for
from ctxtui.services.lab.marker_costs import marker_rates
from ctxtui.services.lab.variants import candidate_variants


class SolvedSession(NamedTuple):
    """One session under all candidates.

    - `warm`: break-evens of keeping the cache warm.
    - `waited`: the session's pauses under each entry of `warm`.
    - `priced`: the prices of the last reported call are known; else `warm` and `waited` are in fresh tokens.
    """

    lab: SessionLab
    warm: tuple[KeepWarm, ...]
    waited: tuple[Pauses, ...]
    priced: bool


class BestCandidates(NamedTuple):
    """The best `policy` with settings, and the best `cache` strategy, for all sessions.

    Each is None if no variant was tried on every session.
    """

    sessions: tuple[SolvedSession, ...]
    policy: FittedVariant | None
    cache: FittedVariant | None


def try_candidates(
    inputs: LabInputs, name: str, settings: Settings, progress: Progress = lambda done, of: True
) -> SolvedSession:
    """Run one session through all candidates.

    Rates, cache rules and context size for keeping warm are those of the last reported call.
    """
    lab = session_lab(inputs, run_experiment(inputs, candidate_variants(), progress), name)
    session = inputs.book.session
    calls = [call for call in session.calls.values() if call.usage is not None]
    if not calls:
        return SolvedSession(lab, (), (), False)
    last = calls[-1]
    rules, rates = inputs.rules(last), marker_rates(prices_for(settings))(last)
    usable_rates = relative_rates(rules) if rates is None and rules.mechanism.writes_at_markers else rates
    if usable_rates is None:
        return SolvedSession(lab, (), (), False)
    size = last.usage.input if last.usage else 0
    warm = keep_warm_break_even(rules, usable_rates, size)
    pauses = _list_pauses(calls)
    waited = tuple(evaluate_pauses(pauses, break_even, usable_rates) for break_even in warm)
    return SolvedSession(lab, tuple(warm), waited, rates is not None)


def find_best(sessions: Sequence[SolvedSession]) -> BestCandidates:
    """The best candidates over all sessions, cross-validated from two sessions on."""
    labs = [session.lab for session in sessions if session.lab.rows]
    return BestCandidates(
        tuple(sessions),
        fit_variants({str(n): _relative_costs(lab, lambda row: row.cache == "recorded") for n, lab in enumerate(labs)}),
        fit_variants(
            {str(n): _relative_costs(lab, lambda row: row.policy == "as_recorded") for n, lab in enumerate(labs)}
        ),
    )


def _relative_costs(lab: SessionLab, is_candidate: Callable[[LabRow], bool]) -> dict[str, float]:
    """Each variant's cost relative to the first row, the recording.

    It compares money if all of it is known, else tokens sent.
    """
    recorded = lab.rows[0]
    priced = all(row.usd is not None for row in lab.rows) and bool(recorded.usd)
    base = (recorded.usd if priced else float(recorded.total)) or 1.0
    return {
        _variant_name(row): ((row.usd or 0.0) if priced else row.total) / base for row in lab.rows if is_candidate(row)
    }


def _variant_name(row: LabRow) -> str:
    settings = " ".join(f"{key}={value}" for key, value in row.given_settings.items())
    return row.cache if row.policy == "as_recorded" and row.cache != "recorded" else f"{row.policy} {settings}".strip()


def _list_pauses(calls: Sequence[Call]) -> list[tuple[float, int]]:
    """Seconds from request to request of each thread, with the input tokens of the earlier one."""
    by_thread: dict[str, list[Call]] = {}
    for call in calls:
        by_thread.setdefault(call.thread, []).append(call)
    pauses = []
    for thread_calls in by_thread.values():
        for before, after in pairwise(thread_calls):
            start, end = sent_at(before), sent_at(after)
            if start is not None and end is not None and before.usage is not None:
                pauses.append((end - start, before.usage.input))
    return pauses
