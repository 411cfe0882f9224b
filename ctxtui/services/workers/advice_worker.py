"""The search for what would help, in a process of its own: it takes seconds of a processor, and keys share an
interpreter with what runs in their process."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

from ctxtui.curation.policies.policy import Step
from ctxtui.curation.price.advice import Advice
from ctxtui.dataclasses import replace
from ctxtui.services.child_process import ChildGone, ChildProcess, end_with_parent
from ctxtui.services.config.policy_registry import every_policy
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.counting import Counter
from ctxtui.services.counting.pricing import price_here, prices_for
from ctxtui.services.editing.advice_search.columns import NodeColumns, SearchColumns, SearchTerms, Unpackable
from ctxtui.services.editing.policy_proposals import Proposals

FEW: Final = 4_000
"""Blocks up to which a search takes less than a process and what it needs (some 0.9 s of processor)."""
_PATIENCE: Final = 20.0
"""Seconds of processor for which is searched at most; then the best that was found by then is told."""
_MAKER: Final = "ctxtui.services.workers.advice_worker:make"
_LOW: Final = 10
"""How far the process stands back behind others."""


class SearchAsked(NamedTuple):
    """Asks for the advice over `horizon` calls, once all nodes are sent."""

    terms: SearchTerms
    settings: Settings
    policies: Sequence[str]
    horizon: int


class FoundAdvice(NamedTuple):
    """Advice without what only the process that found it has: its policies are here by name."""

    names: tuple[str, ...]
    advice: Advice


class AdviceSearcher:
    """Searches for advice over `settings.horizon` calls; `close` ends a search at once."""

    def __init__(self, proposals: Proposals, settings: Settings) -> None:
        self._proposals = proposals
        self._settings = settings
        self._child = ChildProcess(_MAKER)
        self._closed = False
        self.trouble = ""
        """What went wrong on the way, where something did."""

    def close(self) -> None:
        """Nobody waits for it any more."""
        self._closed = True
        self._child.close()

    def found(self, stopped: Callable[[], bool]) -> list[Advice]:
        """What would help, what saves most first; for a worker, which says when it is `stopped`. A context of few
        blocks is searched here, as is any whose process ended."""
        if self._proposals.blocks > FEW:
            if not self._proposals.is_priced:
                return []
            child = self._child = ChildProcess(_MAKER)
            try:
                return [] if self._closed else self._apart(child, stopped)
            except Unpackable:
                pass
            except ChildGone:
                if self._closed or stopped():
                    return []
                self.trouble = "the process that looks for what would help ended"
            finally:
                child.close()
        return self._proposals.advice(self._settings.horizon, stopped, _patience(time.thread_time))

    def _apart(self, child: ChildProcess, stopped: Callable[[], bool]) -> list[Advice]:
        policies = {policy.name: policy for policy in self._proposals.searched}
        horizon = self._settings.horizon
        for part in self._proposals.packed():
            if stopped():
                return []
            if isinstance(part, NodeColumns):
                child.ask(part, closed=0)
            else:
                asked = SearchAsked(part, self._settings, list(policies), horizon)
                every: list[FoundAdvice] = child.ask(asked, closed=0)
                return [_with(one.advice, tuple(Step(policies[name]) for name in one.names)) for one in every]
        return []


def _patience(clock: Callable[[], float]) -> Callable[[], bool]:
    """Whether it was searched for long enough, by the processor time that `clock` gives."""
    until = clock() + _PATIENCE
    return lambda: clock() > until


def make() -> Callable[[NodeColumns | SearchAsked], Any]:
    """What the child answers with: nothing to nodes, and advice."""
    with suppress(OSError):
        os.nice(_LOW)
    end_with_parent()
    columns = SearchColumns()

    def answer(request: NodeColumns | SearchAsked) -> list[FoundAdvice] | None:
        if isinstance(request, NodeColumns):
            columns.take(request)
            return None
        terms, settings, names, horizon = request
        known = every_policy()
        measure = Counter()(terms.card)
        search, staged = columns.search(terms, measure, price_here(prices_for(settings)))
        policies = [known[name] for name in names if name in known]
        enough = _patience(time.process_time)
        return [_found(one) for one in search.advice(policies, horizon, staged, enough=enough)]

    return answer


def _found(one: Advice) -> FoundAdvice:
    return FoundAdvice(one.names, _with(one, ()))


def _with(one: Advice, steps: tuple[Step, ...]) -> Advice:
    return replace(one, remedy=replace(one.remedy, steps=steps, applied=None))
