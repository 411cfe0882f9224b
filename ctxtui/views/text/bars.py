"""Bars beside text: lines with a half step, levels on a track, kept and freed, the budget of a window."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ctxtui.views.text import numbers
from ctxtui.views.text.span import Span, merged

if TYPE_CHECKING:
    from ctxtui.analysis.context_window import ContextWindow

EIGHTHS_ACROSS = " ▏▎▍▌▋▊▉"
"""The left part of a cell, by eighths."""


def _cells(value: float, scale: float, room: int) -> float:
    """How many of `room` cells `value` fills where `scale` fills them all."""
    if scale <= 0 or value <= 0 or math.isnan(value) or math.isnan(scale):
        return 0.0
    return min(float(room), value * room / scale)


def line(value: float, scale: float, room: int, tiny: str = "·") -> str:
    """`value` of `scale` as a line of at most `room` cells: ``━━╸``; less than half a cell is `tiny`.

    Lists of figures keep the dot; the transcript passes "" for `tiny`. The text is not padded.
    """
    filled = _cells(value, scale, room)
    if filled <= 0 or room <= 0:
        return ""
    if filled < 0.5:
        return tiny
    halves = min(2 * room, math.floor(2 * filled + 0.5))
    return "━" * (halves // 2) + "╸" * (halves % 2)


def level(value: float, scale: float, room: int, style: str = "readtx") -> list[Span]:
    """A level on its track, always `room` cells: ``━`` in `style` what is there, ``─`` faint what is gone."""
    there = line(value, scale, room, tiny="")
    return merged([Span(there, style), Span("─" * (room - len(there)), "hair")])


def progress(done: int, total: int, room: int) -> list[Span]:
    """Progress for a rule: a level in accent, full only when all is done."""
    if done < total:
        there = line(min(done, total), total, room, tiny="")[: max(0, room - 1)]
        return merged([Span(there, "accent"), Span("─" * (room - len(there)), "hair")])
    return level(1, 1, room, "accent")


def staged(kept: float, freed: float, scale: float, room: int, style: str, freed_style: str = "warn") -> list[Span]:
    """What an edit keeps and what it frees: ``━━╌╌``, at most `room` cells, not padded. `style` is the kept part's."""
    whole = line(kept + freed, scale, room)
    if whole == "·" or freed <= 0:
        return merged([Span(whole, style)])
    left = (line(kept, scale, room) if kept > 0 else "")[: max(0, len(whole) - 1)]
    return merged([Span(left, style), Span("╌" * (len(whole) - len(left)), freed_style)])


def budget_style(used: float, usable: float) -> str:
    """The level colour of `used` tokens: under 90 % of `usable` ``readtx``, under 100 % ``warn``, else ``crit``."""
    if usable <= 0 or used < 0.9 * usable:
        return "readtx"
    return "warn" if used < usable else "crit"


def limit_words(window: ContextWindow) -> list[Span]:
    """Which limit is in force and how that is known; nothing where none is."""
    if not window.limit:
        return []
    behind = f"; the model takes {numbers.tokens(window.model)}" if window.model > window.limit else ""
    return [Span(numbers.tokens(window.limit)), Span(f" {window.origin_text}{behind}", "dim")]


def limit_short(window: ContextWindow) -> str:
    """The same in at most 18 cells: ``compacts at 168.5k``; "" where no limit is known."""
    # Imported here: Home's first frame knows no window.
    from ctxtui.analysis.context_window import SHORT_TEXTS

    how = SHORT_TEXTS.get(window.origin, "")
    return how.format(numbers.tokens(window.limit).replace(".0k", "k")) if window.limit else ""


def budget(used: float, usable: float, window: float, room: int, after: float | None = None) -> list[Span]:
    """The budget bar, exactly `room` cells; its scale is the context window (tokens).

    ``█`` used, ``·`` free, ``┃`` at the usable limit, ``╱`` the reserve behind it. With edits staged, `after` is what
    the context falls to (tokens): what would be freed is ``░``. A context beyond its window fills the bar.
    """
    if room <= 0:
        return []
    kept = used if after is None else min(used, after)
    style = budget_style(kept, usable)
    window = max(window, usable, 1.0)
    limit = min(room - 1, math.floor(_cells(usable, window, room))) if usable > 0 else room
    filled, whole = _cells(kept, window, room), _cells(used, window, room)
    spans = []
    for cell in range(room):
        if cell == limit:
            spans.append(Span("┃", "ink bold"))
        elif cell + 1 <= filled:
            spans.append(Span("█", style))
        elif after is not None and cell < math.ceil(whole) and whole > filled:
            spans.append(Span("░", budget_style(used, usable)))
        elif filled - cell >= 0.125:
            spans.append(Span(EIGHTHS_ACROSS[math.floor(8 * (filled - cell))], style))
        else:
            spans.append(Span("·", "faint") if cell < limit else Span("╱", "hair"))
    return merged(spans)
