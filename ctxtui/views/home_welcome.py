"""What Home says once, at the first run: three lines, five keys."""

from __future__ import annotations

from typing import Final

from ctxtui.views import cells
from ctxtui.views.span import Span, Spans

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
KEYS: Final = (("enter", "open"), ("[ ]", "calls"), ("/", "filter"), ("?", "help"), ("q", "quit"))
HEIGHT: Final = 1 + len(LINES) + 1
"""Lines of the pane with its rule."""


def welcome(room: int) -> list[Spans]:
    """The pane's body."""
    words = LINES if room >= cells.width(LINES[0]) + 4 else SHORT
    lines: list[Spans] = [[Span(f"  {line}", "ink")] for line in words]
    keys: list[Span] = [Span("  ")]
    for key, label in KEYS:
        keys += [Span(key, "accent bold"), Span(f" {label}   ", "dim")]
    return [*lines, keys]
