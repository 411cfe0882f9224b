"""Variants: ways to simulate a recorded session, and the resulting calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct, field

from ctxtui.core.canonical import Json
from ctxtui.core.edit import Edit
from ctxtui.core.usage import Usage
from ctxtui.curation.policies.policy import Step

AS_RECORDED: Final = "as_recorded"
"""The policy that does nothing, and so the variant that the others are compared with."""
RECORDED: Final = "recorded"
"""The client's own cache strategy: its markers and their lifetime, as recorded or inferred."""


class Variant(Struct, frozen=True, kw_only=True):
    """One way to simulate a session.

    - `steps`: the policies of the policy or profile `policy`, applied before every call.
    - `cache`: the strategy that places cache markers.
    - `model`: another model; "": as recorded.
    """

    policy: str = AS_RECORDED
    steps: tuple[Step, ...] = ()
    cache: str = RECORDED
    model: str = ""

    @property
    def is_recorded(self) -> bool:
        return not self.steps and self.cache == RECORDED and not self.model

    @property
    def settings(self) -> dict[str, Json]:
        """The policy's settings; those of a profile by the names of its policies."""
        if len(self.steps) == 1:
            return dict(self.steps[0].policy.settings(self.steps[0].settings))
        return {step.policy.name: dict(step.policy.settings(step.settings)) for step in self.steps}


class VariantCall(Struct, frozen=True, kw_only=True):
    """One call under a variant, in tokens.

    - `id`: the recorded call's; `number`: counts the calls of the session from 1; `head`: the node of its context.
    - `read`, `write`, `fresh`: add up to `context`; None if no cache can be simulated. `usage` has them by written
      lifetime.
    - `output`: as reported, or counted from the recorded answer; None: neither.
    - `usd`: None if no price is known.
    - `less`: tokens that edits removed from the recorded call's reads, writes and fresh input.
    - `rewrites`: it does not continue the previous call of its thread.
    - `over`: it is above the usable window.
    """

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
    """Substitutes for summaries that a model would have written: their number, and tokens."""

    count: int = 0
    tokens: int = 0


NO_SUMMARIES: Final = Summaries()


class VariantRun(Struct, frozen=True, kw_only=True, dict=True):
    """A session under one variant.

    `dependence` counts changed or removed blocks that later blocks quote.
    """

    variant: Variant
    calls: tuple[VariantCall, ...]
    models: tuple[str, ...]
    dependence: int = 0
    summaries: Summaries = NO_SUMMARIES
    edits: Mapping[str, tuple[Edit, ...]] = field(default_factory=dict)
    refused: str = ""
    """Reason why edits of the policy were left out ("" if none were)."""

    @property
    def peak(self) -> int:
        return max((call.context for call in self.calls), default=0)

    @property
    def final(self) -> int:
        """The context of the last call of the first thread."""
        first = self.calls[0].thread if self.calls else ""
        return next((call.context for call in reversed(self.calls) if call.thread == first), 0)

    @property
    def total(self) -> int:
        return sum(call.context for call in self.calls)

    def sum_of(self, name: str) -> int | None:
        """Sum of a member over all calls; None if one is unknown."""
        values = [getattr(call, name) for call in self.calls]
        return None if not values or None in values else sum(values)

    @property
    def usd(self) -> float | None:
        """Cost of all calls; None if a price is unknown."""
        values = [call.usd for call in self.calls]
        return None if not values or None in values else sum(value for value in values if value is not None)

    @property
    def rewrites(self) -> int:
        return sum(call.rewrites for call in self.calls)

    @property
    def over(self) -> int:
        return sum(call.over for call in self.calls)

    @property
    def first_overflow(self) -> int | None:
        """Number of the first call above the usable window; None if there is none."""
        return next((call.number for call in self.calls if call.over), None)
