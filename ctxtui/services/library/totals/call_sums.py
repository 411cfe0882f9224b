"""What calls used, added up."""

from __future__ import annotations

from collections.abc import Iterable

from ctxtui.analysis.money.usage_stats import UsageSums
from ctxtui.views.model.session_summary import COMPACTED, MISSED, OVER, CallSpent, SessionSummary


def add_call(to: UsageSums, call: CallSpent) -> None:
    """One call more."""
    to.calls += call.calls
    to.input += call.input
    to.read += call.read
    to.output += call.tokens - call.input
    if call.cost is not None:
        to.usd = (to.usd or 0.0) + call.cost
    to.unpriced += call.unpriced
    to.partial += call.partial
    if call.marks:
        to.misses += MISSED in call.marks
        to.unpriced_misses += MISSED in call.marks and call.lost is None
        to.compactions += COMPACTED in call.marks
        to.overflows += OVER in call.marks
    if call.lost is not None:
        to.lost = (to.lost or 0.0) + call.lost


def summed(name: str, parts: Iterable[UsageSums], sessions: int) -> UsageSums:
    """What the parts of so many sessions come to."""
    found = UsageSums(name=name, sessions=sessions)
    for part in parts:
        found.add(part)
    return found


def used_by(one: SessionSummary, calls: Iterable[CallSpent]) -> UsageSums:
    """What some calls of a session used."""
    found = UsageSums(uncounted=int(one.usage_only))
    for call in calls:
        add_call(found, call)
    return found
