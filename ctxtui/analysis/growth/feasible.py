"""Whether a number of further phases fits below a limit, by the forecast of growth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from ctxtui.analysis.growth.growth import Growth
from ctxtui.analysis.growth.phases import Phase
from ctxtui.analysis.growth.projection import (
    Limit,
    Outlook,
    Preflight,
    project_context,
    reach_limit,
    typical_growth_per,
)
from ctxtui.analysis.growth.units_ahead import Range, Typical

PHASE: Final = "phase"
FITS: Final = "fits"
LIKELY: Final = "likely fits"
UNLIKELY: Final = "likely does not fit"
NEVER: Final = "does not fit"
UNKNOWN: Final = "not known"
"""Answers, by which end of the range (high, middle, low) is below the limit."""


class Feasibility(Struct, frozen=True):
    """Whether `ahead` more units (phases, turns or rounds) fit, and when each limit is reached.

    `after` is the size of the context after them in tokens. None: unknown.
    """

    unit: str
    ahead: int
    after: Range | None
    usable: Limit | None
    window: Limit | None

    @property
    def answer(self) -> str:
        """Answer for the usable share, else for the window."""
        limit = self.usable or self.window
        return judge_fit(self.after, limit.tokens) if limit is not None else UNKNOWN


def judge_fit(after: Range | None, tokens: int) -> str:
    """The answer for a context of the size `after` and a limit of `tokens`."""
    if after is None or not tokens:
        return UNKNOWN
    if after.high <= tokens:
        return FITS
    if after.mid <= tokens:
        return LIKELY
    return UNLIKELY if after.low <= tokens else NEVER


def check_feasibility(outlook: Outlook, phases: Sequence[Phase], usable: int, window: int) -> Feasibility:
    """Project the context's growth, and when it reaches the limits.

    It uses the units of `outlook`, or phases if a user named at least two.
    """
    steps = [phase.growth for phase in phases[1:] if phase.growth > 0]
    by_phases = sum(phase.own for phase in phases) >= 2 and bool(steps)
    after, unit = outlook.after, outlook.unit
    if by_phases:
        # Typical growth of other sessions does not apply to named phases; typical forecast errors do.
        typical = Typical(0.0, typical_growth_per(outlook.unit).errors)
        after, unit = project_context(outlook.context, steps, outlook.ahead, outlook.unit, typical), PHASE
    pace = None if after is None else after.map(lambda size: (size - outlook.context) / outlook.ahead)

    def reached(tokens: int) -> Limit | None:
        return reach_limit(tokens, "setting", outlook.context, pace) if tokens else None

    return Feasibility(unit, outlook.ahead, after, reached(usable), reached(window))


class GrowthReport(Struct, frozen=True):
    """A thread's growth so far, its forecast, and whether more fits (None: not requested)."""

    growth: Growth
    ahead: Preflight | None = None
    feasible: Feasibility | None = None
