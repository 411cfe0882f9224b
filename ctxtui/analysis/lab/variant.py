"""Variants: one way each to go through a recorded session, and what its calls then come to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct, field

from ctxtui.core.canonical import Json
from ctxtui.core.edit import Edit
from ctxtui.core.usage import Usage
from ctxtui.curation.policies.policy import Step

AS_RECORDED: Final = "as_recorded"
"""The policy that does nothing, and so the variant that the others are held against."""
RECORDED: Final = "recorded"
"""The cache strategy of the client itself: its markers and their lifetime, as recorded or inferred."""


class Variant(Struct, frozen=True, kw_only=True):
    """One way through a session: the `steps` of the policy or profile `policy` before every call, the markers of the
    strategy `cache`, and another `model` ("": as recorded)."""

    policy: str = AS_RECORDED
    steps: tuple[Step, ...] = ()
    cache: str = RECORDED
    model: str = ""

    @property
    def is_recorded(self) -> bool:
        """Whether it changes nothing."""
        return not self.steps and self.cache == RECORDED and not self.model

    @property
    def settings(self) -> dict[str, Json]:
        """The policy's settings; those of a profile by the names of its policies."""
        if len(self.steps) == 1:
            return dict(self.steps[0].policy.settings(self.steps[0].settings))
        return {step.policy.name: dict(step.policy.settings(step.settings)) for step in self.steps}


class VariantCall(Struct, frozen=True, kw_only=True):
    """One call under a variant, in tokens. `id` is the recorded call's, `number` counts the calls of the session from
    1, `head` is the node of its context. `read`, `write` and `fresh` add up to `context`; None where no cache can be
    simulated, and `usage` has them by the lifetime of what is written. `output` is as reported, or what is
    recorded of the answer (None: neither),
    `usd` None where no price is known. `less` are the tokens that edits took of what the recorded call read, of what it
    wrote and of neither. `rewrites`: it does not go on from the call before it in its thread. `over`: more than the
    usable window."""

    id: str
    number: int
    thread: str
    head: int
    context: int
    read: int | None
    write: int | None
    fresh: int | None
    output: int | None
    usage: Usage | None
    usd: float | None
    rewrites: bool
    over: bool
    less: tuple[int, int, int] = (0, 0, 0)


class Summaries(Struct, frozen=True):
    """The summaries that stand in for what a model would have written: how many, and their tokens together."""

    count: int = 0
    tokens: int = 0


NO_SUMMARIES: Final = Summaries()


class VariantRun(Struct, frozen=True, kw_only=True, dict=True):
    """A session under one variant: its `calls`, the models they go to, how many blocks went that later calls still
    quote (`dependence`), the `summaries` put in, and by thread the `edits` that were made."""

    variant: Variant
    calls: tuple[VariantCall, ...]
    models: tuple[str, ...]
    dependence: int = 0
    summaries: Summaries = NO_SUMMARIES
    edits: Mapping[str, tuple[Edit, ...]] = field(default_factory=dict)
    refused: str = ""
    """Why edits of the policy were left out ("" where none were)."""

    @property
    def peak(self) -> int:
        """The largest context."""
        return max((call.context for call in self.calls), default=0)

    @property
    def final(self) -> int:
        """The context of the last call of the first thread."""
        first = self.calls[0].thread if self.calls else ""
        return next((call.context for call in reversed(self.calls) if call.thread == first), 0)

    @property
    def total(self) -> int:
        """Everything that is sent."""
        return sum(call.context for call in self.calls)

    def summed(self, name: str) -> int | None:
        """The sum of `read`, `write`, `fresh` or `output` over all calls; None where one is not known."""
        values = [getattr(call, name) for call in self.calls]
        return None if not values or None in values else sum(values)

    @property
    def usd(self) -> float | None:
        """What all calls cost; None where one's price is not known."""
        values = [call.usd for call in self.calls]
        return None if not values or None in values else sum(one for one in values if one is not None)

    @property
    def rewrites(self) -> int:
        """Calls that do not go on from the one before them."""
        return sum(call.rewrites for call in self.calls)

    @property
    def over(self) -> int:
        """Calls above the usable window."""
        return sum(call.over for call in self.calls)

    @property
    def first_overflow(self) -> int | None:
        """The number of the first of them."""
        return next((call.number for call in self.calls if call.over), None)
