"""Home's filter line: progress of reading and the order at its right; what an empty list says."""

from __future__ import annotations

from ctxtui.views import bars
from ctxtui.views.home_list import SORTS, Wanted
from ctxtui.views.span import Span, Spans


def status(done: int, total: int, reading: bool, wanted: Wanted) -> list[Span]:
    """``reading 41 of 61 ━━━───   s sort: age ↓``."""
    sort = SORTS[wanted.sort]
    order = f" sort: {sort.name} {'↓' if wanted.falling else '↑'} "
    right = [Span("s", "accent bold"), Span(order, "dim")]
    if not reading or done >= total:
        return right
    return [Span(f"reading {done:,} of {total:,} ", "dim"), *bars.progress(done, total, 15), Span("   "), *right]


def empty(any_: bool, words: str) -> Spans:
    """The sentence of a list without rows."""
    if any_ and words:
        return [Span(f"No session matches “{words}”.  ", "dim"), Span("esc", "accent bold"), Span(" show all", "dim")]
    return [
        Span("No recorded session on this machine.  ", "dim"),
        Span("ctxtui PATH", "accent"),
        Span(" opens a file", "dim"),
    ]
