"""Caches without markers: a request reads its longest recently sent prefix, in whole steps.

OpenAI's cache before GPT-5.6 is one of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from ctxtui.cache.outcome import EXPIRED, MINIMUM, NEVER, NOT_YET, CacheOutcome, Reason
from ctxtui.cache.prefix_history import PrefixHistory, Use
from ctxtui.cache.prefix_key import PrefixEnd
from ctxtui.cache.prompt import CachedPrompt
from ctxtui.cache.rules import Mechanism


class Automatic:
    """Simulates a cache that keeps every prefix of every request until it is no longer used."""

    mechanism: ClassVar[Mechanism] = Mechanism(keeps_every_prefix=True)

    def __init__(self, history: PrefixHistory | None = None) -> None:
        self.history = history or PrefixHistory()

    def copy(self) -> Automatic:
        return Automatic(self.history.copy())

    def predict(self, prompt: CachedPrompt, at: float, *, why: bool = True) -> CacheOutcome:
        """Predict what a request sent `at` (Unix seconds) reads; changes nothing."""
        rules = prompt.rules
        hit = self.history.deepest(prompt.last, self._holds(at, rules.retention))
        read = rules.reported_read(prompt.tokens(hit.node) if hit else 0, prompt.total)
        reasons = () if read or not why else self._why(prompt, at)
        return CacheOutcome(prompt, at, read, hit=hit, life=rules.retention, reasons=reasons)

    def deepest_cached(self, prompt: CachedPrompt, at: float, life: float = 0.0) -> PrefixEnd | None:
        retention = prompt.rules.retention
        return self.history.deepest(prompt.last, self._holds(at, retention)) if retention >= life else None

    def _holds(self, at: float, retention: float, began: bool = True) -> Callable[[int, int], bool]:
        """Return a test whether a prefix was sent recently and, with `began`, its answer has begun."""
        uses = self.history.uses

        def lately(use: Use) -> bool:
            return use.at + retention >= at and (use.ready <= at or not began)

        def holds(owner: int, number: int) -> bool:
            late = (n for n in range(len(uses) - 1, owner, -1) if lately(uses[n]))
            return lately(uses[owner]) or any(self.history.has(n, owner, number) for n in late)

        return holds

    def _why(self, prompt: CachedPrompt, at: float) -> tuple[Reason, ...]:
        longest = self.history.longest_known(prompt.last)
        if longest is None:
            return (Reason(NEVER),)
        owner, number = self.history.owner(longest)
        uses = [u for n, u in enumerate(self.history.uses) if n >= owner and self.history.has(n, owner, number)]
        if prompt.tokens(longest.node) < prompt.rules.minimum:
            return (Reason(MINIMUM, longest, prompt.rules.minimum - prompt.tokens(longest.node)),)
        if soon := [use.ready for use in uses if use.ready > at]:
            return (Reason(NOT_YET, longest, min(soon) - at),)
        return (Reason(EXPIRED, longest, at - max(use.at for use in uses) - prompt.rules.retention),)

    def record(self, outcome: CacheOutcome, began: float) -> None:
        prompt = outcome.prompt
        last = prompt.answer if prompt.rules.answers and prompt.answer is not None else prompt.last
        # A prefix that is not readable yet still counts as the same prefix.
        shared = self.history.deepest(last, self._holds(outcome.at, prompt.rules.retention, began=False))
        self.history.add_request(last, shared, outcome.at, began)
