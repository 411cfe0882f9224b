"""Home's filter line: progress of reading and the order at its right; what an empty list and the first run say."""

from __future__ import annotations

from typing import Final

from ctxtui.views.home.columns import sorts
from ctxtui.views.home.session_list import ListOrder
from ctxtui.views.text import bars, cells
from ctxtui.views.text.span import Span, Spans


def status(done: int, total: int, reading: bool, wanted: ListOrder) -> list[Span]:
    """``reading 41 of 61 ━━━───   s sort: age ↓``."""
    sort = sorts()[wanted.sort]
    order = f" sort: {sort.name} {'↓' if wanted.falling else '↑'} "
    right = [Span("S", "accent bold"), Span(order, "dim")]
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


LINES: Final = (
    "See what the model read: every call of a recorded agent session, block by block, with tokens, cache and money.",
    "Below are the sessions found on this machine, those of this directory first, and four samples to try.",
    "Read-only; nothing leaves this machine.",
)
SHORT: Final = (
    "What the model read, call by call: every block with tokens, cache, money.",
    "Below: the sessions of this machine, this directory's first; then samples.",
    "Read-only; nothing leaves this machine.",
)
NOWHERE: Final = (
    LINES[0],
    "No session was found on this machine yet. Below: four samples to try, and the places where ctxtui looked.",
    LINES[2],
)
NOWHERE_SHORT: Final = (
    SHORT[0],
    "No session found yet. Below: four samples, and where ctxtui looked.",
    SHORT[2],
)
KEYS: Final = (("enter", "open"), ("[ ]", "calls"), ("/", "filter"), ("?", "help"), ("q", "quit"))
HEIGHT: Final = 1 + len(LINES) + 1
"""Lines of the pane with its rule."""


def welcome(room: int, *, found: bool = True) -> list[Spans]:
    """The pane's body; `found` says whether there are sessions beside the samples."""
    long, short = (LINES, SHORT) if found else (NOWHERE, NOWHERE_SHORT)
    words = long if room >= cells.width(long[0]) + 4 else short
    lines: list[Spans] = [[Span(f"  {line}", "ink")] for line in words]
    keys: list[Span] = [Span("  ")]
    for key, label in KEYS:
        keys += [Span(key, "accent bold"), Span(f" {label}   ", "dim")]
    return [*lines, keys]
