"""llama.cpp: each slot holds one prompt with its answer; a request reads what it has in common with one (facts §5)."""

from __future__ import annotations

from ctxtui.cache.engines.automatic import counted
from ctxtui.cache.outcome import NEVER, Outcome, Reason
from ctxtui.cache.prompt import Prompt
from ctxtui.cache.trail import Trail


class Slots:
    """What the slots hold: numbers of requests on the trail, the slot used last at the end."""

    def __init__(self, trail: Trail | None = None, slots: tuple[int, ...] = ()) -> None:
        self.trail = trail or Trail()
        self.slots = slots

    def copy(self) -> Slots:
        """A server of its own in the same state."""
        return Slots(self.trail.copy(), self.slots)

    def ask(self, prompt: Prompt, at: float) -> Outcome:
        """What a request would read now; changes nothing."""

        def holds(owner: int, number: int) -> bool:
            return any(self.trail.has(slot, owner, number) for slot in self.slots)

        hit = self.trail.deepest(prompt.last, holds)
        read = counted(prompt.rules, prompt.tokens(hit.node), prompt.total) if hit else 0
        return Outcome(prompt, at, read, hit=hit, reasons=() if read else (Reason(NEVER),))

    def take(self, outcome: Outcome, began: float) -> None:
        """The request was sent: its slot now holds it, and its answer where that is known."""
        prompt, hit = outcome.prompt, outcome.hit
        last = prompt.answer if prompt.rules.answers and prompt.answer is not None else prompt.last
        held = list(self.slots)
        if hit is not None:
            held.remove(next(s for s in reversed(held) if self.trail.has(s, *self.trail.owner(hit))))
        elif len(held) >= prompt.rules.slots:
            del held[0]
        self.slots = (*held, self.trail.enter(last, hit, outcome.at, began))
