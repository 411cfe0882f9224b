"""The same calls with the same answers, again and again."""

from __future__ import annotations

from collections.abc import Iterator

from ctxtui.analysis.content.repeated_calls import Loop, find_loops
from ctxtui.analysis.findings.finding import Finding, FindingInputs, Place, finding_from_edits, measure_edits
from ctxtui.core.edit import make
from ctxtui.core.edit_kinds import DROP

KIND = "loops"


def find(given: FindingInputs) -> Iterator[Finding]:
    """Report calls that were made at least three times in a row, also in cycles of two or three, with equal answers."""
    here = given.situation
    loops = find_loops(here.context)
    positions = [p for loop in loops for exchange in loop.middle for p in (exchange.call, *exchange.answer)]
    free = [p for p in positions if here.is_unchanged(p) and p not in here.pinned and p not in here.reverted_by_user]
    # Each for itself: one may be taken back alone.
    edits = [make(DROP, here.context.targets([p]), {}) for p in sorted(set(free))]
    about = measure_edits(given, edits)
    if about is None:
        return
    places = tuple(_place(given, loop) for loop in loops)
    yield finding_from_edits(
        edits,
        about,
        kind=KIND,
        says=f"{{names}}: the same calls with the same answers, from call {places[0].call:,} on: "
        "{tokens} in every call{so_far}",
        cure="keep the first and the last, drop what is between",
        names=tuple(place.what for place in places),
        places=places,
    )


def _place(given: FindingInputs, loop: Loop) -> Place:
    reading, position = given.situation.context.reading, loop.exchanges[0].call
    names = ", ".join(reading(exchange.call).name for exchange in loop.exchanges[: loop.period])
    origin = given.guard.origin(reading(position))
    return Place(f"{names} x{loop.repeats}", given.first_call(position), position + 1, origin)
