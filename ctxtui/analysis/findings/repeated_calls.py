"""Finding: the same calls with the same answers, again and again."""

from __future__ import annotations

from collections.abc import Iterator

from ctxtui.analysis.content.repeated_calls import Loop, find_loops
from ctxtui.analysis.findings.finding import Finding, FindingInputs, Place, finding_from_edits, measure_edits
from ctxtui.core.edit_kinds import DROP

KIND = "loops"


def find(inputs: FindingInputs) -> Iterator[Finding]:
    """Report calls made three times in a row or more with equal answers, also in short cycles."""
    loops = find_loops(inputs.policy_context.context)
    positions = [p for loop in loops for exchange in loop.middle for p in (exchange.call, *exchange.answer)]
    # One edit for each, so that each can be reverted alone.
    edits = inputs.edit_each(positions, DROP, {})
    effect = measure_edits(inputs, edits)
    if effect is None:
        return
    places = tuple(_make_place(inputs, loop) for loop in loops)
    yield finding_from_edits(
        edits,
        effect,
        kind=KIND,
        problem=f"{{names}}: the same calls with the same answers, from call {places[0].call:,} on: "
        "{tokens} in every call{so_far}",
        fix="keep the first and the last, drop the others",
        names=tuple(place.what for place in places),
        places=places,
    )


def _make_place(inputs: FindingInputs, loop: Loop) -> Place:
    reading, position = inputs.policy_context.context.reading, loop.exchanges[0].call
    names = ", ".join(reading(exchange.call).name for exchange in loop.exchanges[: loop.period])
    origin = inputs.guard.describe_call(reading(position))
    return Place(f"{names} x{loop.repeats}", inputs.first_call(position), position + 1, origin)
