"""Bars next to text: lines in half steps, levels, kept and freed parts, window budgets."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ctxtui.views.text import numbers
from ctxtui.views.text.span import Span, merged

if TYPE_CHECKING:
    from ctxtui.analysis.context_window import ContextWindow

EIGHTHS_ACROSS = " ▏▎▍▌▋▊▉"
"""Left part of a cell, by eighths."""


def _cells(value: float, scale: float, room: int) -> float:
    return min(float(room), value * room / scale) if scale > 0 and value > 0 else 0.0


def line(value: float, scale: float, room: int, tiny: str = "·") -> str:
    """Draw `value` of `scale` as a line of at most `room` cells: ``━━╸``.

    Less than half a cell is `tiny`.
    """
    filled = _cells(value, scale, room)
    if filled <= 0 or room <= 0:
        return ""
    if filled < 0.5:
        return tiny
    halves = min(2 * room, math.floor(2 * filled + 0.5))
    return "━" * (halves // 2) + "╸" * (halves % 2)


def level(value: float, scale: float, room: int, style: str = "readtx") -> list[Span]:
    """Draw `value` of `scale` as a line of exactly `room` cells."""
    filled = line(value, scale, room, tiny="")
    return merged([Span(filled, style), Span("─" * (room - len(filled)), "hair")])


def progress(done: int, total: int, room: int) -> list[Span]:
    """Draw a level in accent, full only when all is done."""
    if done < total:
        filled = line(min(done, total), total, room, tiny="")[: max(0, room - 1)]
        return merged([Span(filled, "accent"), Span("─" * (room - len(filled)), "hair")])
    return level(1, 1, room, "accent")


def staged(remaining: float, freed: float, scale: float, room: int, style: str) -> list[Span]:
    """Draw kept and freed parts: ``━━╌╌``, at most `room` cells, not padded.

    `style` is for the kept part.
    """
    whole = line(remaining + freed, scale, room)
    if whole == "·" or freed <= 0:
        return merged([Span(whole, style)])
    kept_bar = (line(remaining, scale, room) if remaining > 0 else "")[: max(0, len(whole) - 1)]
    return merged([Span(kept_bar, style), Span("╌" * (len(whole) - len(kept_bar)), "warn")])


def budget_style(used: float, usable: float) -> str:
    """Colour of `used` tokens: ``warn`` from 90 % of `usable` (0: unknown), ``crit`` from 100 %."""
    if usable <= 0 or used < 0.9 * usable:
        return "readtx"
    return "warn" if used < usable else "crit"


def limit_words(window: ContextWindow) -> list[Span]:
    if not window.limit:
        return []
    model_window = f"; the model's window is {numbers.tokens(window.model)}" if window.model > window.limit else ""
    return [Span(numbers.tokens(window.limit)), Span(f" {window.origin_text}{model_window}", "dim")]


def limit_short(window: ContextWindow) -> str:
    """The window limit in at most 19 cells: ``compacts at 168.5k``; "" if unknown."""
    # Late import: not needed for Home's first frame.
    from ctxtui.analysis.context_window import SHORT_TEXTS

    template = SHORT_TEXTS.get(window.origin, "")
    return template.format(numbers.tokens(window.limit).replace(".0k", "k")) if window.limit else ""


def budget(used: float, usable: float, window: float, room: int, after: float | None = None) -> list[Span]:
    """Draw the budget bar in exactly `room` cells; its scale is the context window (tokens).

    ``█`` used, ``·`` free, ``┃`` at the usable limit, ``╱`` the reserve after it. With staged edits, `after` is the new
    size of the context, and the freed part is ``░``.
    """
    if room <= 0:
        return []
    remaining = used if after is None else min(used, after)
    style = budget_style(remaining, usable)
    window = max(window, usable, 1.0)
    limit = min(room - 1, math.floor(_cells(usable, window, room))) if usable > 0 else room
    filled, whole = _cells(remaining, window, room), _cells(used, window, room)
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
