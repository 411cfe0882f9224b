"""Where markers are put, against the least that a session's input can cost with all its pauses known.

``python -m benchmarks --only markers``: the sessions of `CTXTUI_CORPUS` that speak to Anthropic, every thread of at
least `LEAST` calls. Costs are by list multiples (read 0.1, writes 1.25 and 2); sessions of up to 60 calls are solved
exactly.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.measure import Result
from ctxtui.analysis.book import Book
from ctxtui.analysis.cache.marker_trials import MarkerTrials, try_markers
from ctxtui.cache.marker_placement import RECOMMENDED
from ctxtui.core.errors import CtxtuiError
from ctxtui.services.config.package_data import model_table
from ctxtui.services.counting.books import cache_rules_by_call
from ctxtui.services.counting.counting import Counter, count_all
from ctxtui.services.recordings.open import load

SOURCES: Final = ("claude_code", "pi")
LEAST: Final = 3


def placings(corpus: Path) -> Iterator[tuple[str, MarkerTrials]]:
    """Every thread of the corpus that other markers can be tried on."""
    counter = Counter()
    for source in SOURCES:
        for path in sorted(p for p in (corpus / source).glob("*") if p.is_file()):
            try:
                book = Book(load(path).session, model_table(), counter)
            except CtxtuiError:
                continue
            count_all(book, counter)
            for thread in book.session.order:
                found = try_markers(book, cache_rules_by_call(book), lambda call: None, thread)
                if found is not None and len(found.calls) >= LEAST:
                    yield path.name, found


def results(folder: Path, runs: int) -> list[Result]:
    """How much dearer the default is than the least; none without a corpus."""
    corpus = os.environ.get("CTXTUI_CORPUS")
    every = [one for _, one in placings(Path(corpus))] if corpus else []
    found = []
    exact = [one for one in every if one.plan.exact]
    for name, some in (("sessions solved exactly", exact), ("all sessions, least found", every)):
        if not some:
            continue
        least = sum(one.plan.cost for one in some)
        costs = {tried.name: 0.0 for tried in some[0].strategy_trials}
        for one in some:
            for tried in one.strategy_trials:
                costs[tried.name] += tried.cost
        bound = sum(one.plan.bound for one in some)
        calls = sum(len(one.calls) for one in some)
        note = f"{calls} calls; automatic +{100 * (costs['automatic'] / least - 1):.1f} %, bound {bound / least:.3f}"
        found.append(
            Result(
                "markers",
                f"{RECOMMENDED.name} above the least, {name}",
                "the least with all pauses known",
                100 * (costs[RECOMMENDED.name] / least - 1),
                2.0,
                "%",
                note,
            )
        )
    return found
