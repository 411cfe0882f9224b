"""Adds the simulated effect of a variant to the reported figures of each call.

The effect is the difference from the simulated recording. A simulation deviates from the report; the difference between
two simulations is more exact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from msgspec.structs import replace

from ctxtui.analysis.lab.variant import RECORDED, Variant, VariantCall, VariantRun
from ctxtui.analysis.lab.variant_pass import LabInputs, simulated_usd
from ctxtui.analysis.money.edited_calls import EditedCalls, reduce_usage
from ctxtui.core.call import Call
from ctxtui.core.usage import WRITES, Usage


def apply_to_record(inputs: LabInputs, plain: VariantRun, run: VariantRun) -> VariantRun:
    """Change the reports of `run` by its differences from the simulated recording `plain`.

    A call without a report stays simulated.
    """
    plain_calls = {call.id: call for call in plain.calls}
    return replace(
        run, calls=tuple(_apply_to_call(inputs, plain_calls[call.id], call, run.variant) for call in run.calls)
    )


class MarkerRuns(NamedTuple):
    """A recording as it was (`own`), and with the markers of each strategy (`by`).

    A strategy's name in `by` is one word.
    """

    own: VariantRun
    by: Mapping[str, VariantRun]

    def edited_calls(self, cache: str, calls: Sequence[Call]) -> EditedCalls | None:
        """The first `calls` of a thread with the markers of `cache`.

        None if none of them was simulated.
        """
        numbers = {call.id: number for number, call in enumerate(calls, 1)}
        pairs = zip(self.own.calls, self.by[cache].calls, strict=True) if cache in self.by else ()
        call_pairs = [
            (numbers[plain_call.id], plain_call, variant_call)
            for plain_call, variant_call in pairs
            if plain_call.id in numbers
        ]
        if not call_pairs:
            return None
        saved = tuple(plain_call.context - variant_call.context for _, plain_call, variant_call in call_pairs)
        extra_usd = (
            None if plain_call.usd is None or variant_call.usd is None else variant_call.usd - plain_call.usd
            for _, plain_call, variant_call in call_pairs
        )
        return EditedCalls(call_pairs[0][0], saved, tuple(extra_usd))


NO_MARKER_RUNS: Final = MarkerRuns(VariantRun(variant=Variant(), calls=(), models=()), {})


def _apply_to_call(inputs: LabInputs, plain: VariantCall, simulated: VariantCall, variant: Variant) -> VariantCall:
    recorded = inputs.book.session.calls[simulated.id]
    report = recorded.usage
    if report is None or not report.input:
        return simulated
    total = max(0, report.input + simulated.context - plain.context)
    call = inputs.as_model(recorded, variant.model)
    if variant.cache == RECORDED and call is recorded and not (plain.rewrites and not simulated.rewrites):
        usage = _usage_under_edits(report, plain, simulated)
        total = usage.input if usage is not None else total
    else:
        usage = _adjust_usage(report, total, plain.usage, simulated.usage)
    usd = _cost_of(inputs, recorded, call, usage) if usage is not None else None
    return replace(
        simulated,
        context=total,
        read=usage.cache_read if usage is not None else None,
        write=usage.cache_write if usage is not None else None,
        fresh=usage.fresh if usage is not None else None,
        usage=usage,
        usd=usd,
        over=0 < inputs.usable(call) < total,
    )


def _usage_under_edits(report: Usage, plain: VariantCall, simulated: VariantCall) -> Usage | None:
    """Change `report` by edits; None if they break the cache and it cannot be simulated."""
    breaks = simulated.rewrites and simulated.head != plain.head
    if breaks and simulated.usage is None:
        return None
    return (
        reduce_usage(report, simulated.less, simulated.usage if breaks else None)
        if breaks or any(simulated.less)
        else report
    )


def _cost_of(inputs: LabInputs, recorded: Call, call: Call, usage: Usage) -> float | None:
    """Cost of `recorded` as `call` with another `usage`, in USD.

    It is the paid cost, if known, plus the difference. If `call` goes to another model, the simulated cost alone. None
    if a price is unknown.
    """
    assert recorded.usage is not None
    paid, now = inputs.paid_usd(recorded), simulated_usd(inputs, call, usage)
    if call is not recorded:
        return now
    if usage == recorded.usage and paid is not None:
        return paid
    before = simulated_usd(inputs, call, recorded.usage)
    return None if now is None or before is None else (paid or 0.0) + now - before


def _adjust_usage(report: Usage, total: int, plain: Usage | None, simulated: Usage | None) -> Usage | None:
    """Change `report`, of `total` input, by the difference of simulations.

    None without one, if the call differs.
    """
    if plain is None or simulated is None:
        return report if plain is simulated and total == report.input else None
    read = _clamp(report.cache_read + simulated.cache_read - plain.cache_read, total)
    write = _clamp(report.cache_write + simulated.cache_write - plain.cache_write, total - read)
    return replace(
        report,
        cache_read=read,
        fresh=total - read - write,
        cost=report.cost if (read, write, total) == (report.cache_read, report.cache_write, report.input) else None,
        **_split_by_lifetime(write, report, plain, simulated),
    )


def _clamp(tokens: int, most: int) -> int:
    return min(most, max(0, tokens))


def _split_by_lifetime(write: int, report: Usage, plain: Usage, simulated: Usage) -> dict[str, int]:
    """Writes by lifetime: as reported and changed, else in the proportions of `simulated`."""
    parts = {name: getattr(report, name) + getattr(simulated, name) - getattr(plain, name) for name in WRITES}
    if min(parts.values()) >= 0 and sum(parts.values()) == write:
        return parts
    like = simulated if simulated.cache_write else report
    total_write = like.cache_write
    parts_ = {name: getattr(like, name) * write // total_write if total_write else 0 for name in WRITES}
    parts_[max(WRITES, key=lambda name: getattr(like, name))] += write - sum(parts_.values())
    return parts_
