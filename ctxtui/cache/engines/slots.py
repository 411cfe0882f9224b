"""Simulates llama.cpp's cache: each slot holds one prompt with its answer (facts §5).

A request reads its common prefix with the prompt in one slot.
"""

from __future__ import annotations

from typing import ClassVar, Final

from ctxtui.cache.outcome import NEVER, CacheOutcome, Reason
from ctxtui.cache.prefix_history import PrefixHistory
from ctxtui.cache.prefix_key import PrefixEnd
from ctxtui.cache.prompt import CachedPrompt
from ctxtui.cache.rules import Mechanism

MIN_SIMILARITY: Final = 0.1
"""Share of a prompt that a slot must hold to be chosen for it; the server's default, from its README."""
_FREE: Final = -1


class Slots:
    """Simulates llama.cpp's slots: the numbers of their requests in the history, last used last."""

    mechanism: ClassVar[Mechanism] = Mechanism(holds_one=True)

    def __init__(self, history: PrefixHistory | None = None, slots: tuple[int, ...] = ()) -> None:
        self.history = history or PrefixHistory()
        self.slots = slots

    def copy(self) -> Slots:
        return Slots(self.history.copy(), self.slots)

    def predict(self, prompt: CachedPrompt, at: float, *, why: bool = True) -> CacheOutcome:
        """Predict what a request reads; changes nothing. Nothing expires, so `at` does not matter."""
        _, hit = self._choose_slot(prompt)
        read = prompt.rules.reported_read(prompt.tokens(hit.node), prompt.total) if hit else 0
        return CacheOutcome(prompt, at, read, hit=hit, reasons=() if read else (Reason(NEVER),))

    def deepest_cached(self, prompt: CachedPrompt, at: float, life: float = 0.0) -> PrefixEnd | None:
        """Longest prefix in the slot that would take the prompt.

        Nothing expires, so `life` does not matter.
        """
        return self._choose_slot(prompt)[1]

    def record(self, outcome: CacheOutcome, began: float) -> None:
        """Record a sent request: its slot now holds the prompt, with its answer if that is known."""
        prompt = outcome.prompt
        last = prompt.answer if prompt.rules.answers and prompt.answer is not None else prompt.last
        chosen, hit = self._choose_slot(prompt)
        rest = tuple(slot for slot in self.slots if slot != chosen)
        self.slots = (*rest, self.history.add_request(last, hit, outcome.at, began))

    def _choose_slot(self, prompt: CachedPrompt) -> tuple[int, PrefixEnd | None]:
        """Choose the slot for `prompt` (`_FREE`: an empty one) and the longest prefix that it holds."""
        best = self._longest_prefix(prompt, self.slots)
        if best is not None and prompt.tokens(best.node) > MIN_SIMILARITY * prompt.total:
            owner = self.history.owner(best)
            return next(slot for slot in reversed(self.slots) if self.history.has(slot, *owner)), best
        if len(self.slots) < prompt.rules.slots:
            return _FREE, None
        return self.slots[0], self._longest_prefix(prompt, self.slots[:1])

    def _longest_prefix(self, prompt: CachedPrompt, slots: tuple[int, ...]) -> PrefixEnd | None:
        def holds(owner: int, number: int) -> bool:
            return any(self.history.has(slot, owner, number) for slot in slots)

        return self.history.deepest(prompt.last, holds)
