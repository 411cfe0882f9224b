"""The figures of one call's context."""

from __future__ import annotations

from msgspec import Struct

from ctxtui.core.call import Call
from ctxtui.core.usage import Usage


class CallFigures(Struct, frozen=True, kw_only=True):
    """The size of a call's context, in tokens.

    `context_tokens` is the reported input where there is a report (`method` ``reported``), else what the recording
    gives as an estimate or what an earlier report forecasts (``calibrated`` once enough was learned from reports, else
    ``guessed``), else the sum of our figures (``exact`` where every block is); `lo` and `hi` are its 90 % interval.
    `categories` holds our figure for each category that is not empty, in prompt order. `not_recorded` is what the
    recording lacks (None where nothing is lacking or it cannot be inferred yet), `attached` what the client attached
    again after a compaction, `residual` the context tokens less everything else. `counted` is False while some block
    has no count yet, or what a report shows to be gone is not known yet: then only `context_tokens` and `reported` are
    meant to be shown.
    """

    context_tokens: int
    method: str
    lo: int
    hi: int
    categories: dict[str, int]
    not_recorded: int | None
    residual: int
    reported: Usage | None
    counted: bool
    attached: int = 0


def uncounted(call: Call) -> CallFigures:
    """The figures of a call whose context has blocks without a count."""
    total = call.usage.input if call.usage and not call.is_sum else 0
    return CallFigures(
        context_tokens=total,
        method="reported" if call.usage else "guessed",
        lo=total,
        hi=total,
        categories={},
        not_recorded=None,
        residual=0,
        reported=call.usage,
        counted=False,
    )
