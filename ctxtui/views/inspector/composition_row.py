"""Rows of the context pane: a category with its figures, several folded into one, column heads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from ctxtui.views.text import bars, cells, numbers
from ctxtui.views.text.signs import NOT_RECORDED, Sign, category_at
from ctxtui.views.text.span import Span, width

BOLD_SHARE: Final = 0.2
HEADS_FROM: Final = 70
"""Cells from which the pane has columns for the change, the money, and heads over them."""
BAR_FROM: Final = 40
"""Cells from which rows have bars, and shares a decimal."""


class CategoryPart(Struct, frozen=True, kw_only=True):
    """One category: `tokens` in the context, `change` since the call before, USD in `this` call and `so_far`.

    `shown` is ``line``, ``full`` or ``hidden``: how the transcript shows its blocks. `after` are the tokens under
    staged edits. None: not known yet, or nothing is staged.
    """

    category: int
    tokens: int
    share: float
    change: int | None = None
    this: float | None = None
    so_far: float | None = None
    shown: str = "line"
    after: int | None = None

    @property
    def sign(self) -> Sign:
        """Glyph, key and colour."""
        return category_at(self.category)


def columns(room: int) -> tuple[int, int, int]:
    """Cells of the bar, whether money is shown, decimals of the share."""
    if room >= HEADS_FROM:
        return max(6, room - 24 - 42), 1, 1
    return (max(0, room - 33), 0, 1) if room >= BAR_FROM else (0, 0, 0)


def heads(room: int) -> list[Span]:
    """The names of the columns."""
    bar, _, _ = columns(room)
    text = f"{'tokens':>23} {'':{bar}}{'Δ call':>8}{'this call':>11}{'so far':>10}"
    text += f"{'share':>{room - 1 - len(text)}}"
    return [Span(text, "faint")]


def draw(part: CategoryPart, scale: int, room: int) -> list[Span]:
    """A category's row in `room` cells; `scale` is the tokens that a full bar stands for."""
    bar, money, decimals = columns(room)
    sign, lost = part.sign, part.category >= NOT_RECORDED
    big = "bold" if part.share >= BOLD_SHARE and not lost else ""
    now = part.tokens if part.after is None else part.after
    figure = numbers.guessed(part.tokens) if lost else numbers.tokens(now)
    changed = "warn" if now < part.tokens else "add" if now > part.tokens else "ink"
    name_style = {"hidden": "faint strike", "full": "ink underline"}.get(part.shown, "ink")
    name = (
        [Span(f"   {sign.name}", "faint")] if lost else [_key(sign), sign.span, Span(" "), Span(sign.name, name_style)]
    )
    line = [
        *name,
        Span(cells.right(figure, 23 - width(name)), "faint" if lost else f"{changed} {big}".strip()),
        Span(" "),
    ]
    if bar:
        line += _bar(part, now, scale, bar, "faint" if lost else sign.style)
    if money:
        change = numbers.NONE if not part.change else numbers.signed(part.change)
        line.append(Span(f"{change:>8}", "ink" if part.change else "dim"))
        line.append(_money(part.this, 11))
        line.append(_money(part.so_far, 10))
    return [*line, *_share(part.share, decimals, room - 24 - bar - 29 * money)]


def _share(share: float, decimals: int, room: int) -> list[Span]:
    """A share at the right of `room` cells, the last of which stays free."""
    return [Span(f"{numbers.share(share, decimals)[:-2]:>{max(0, room - 3)}}", "dim"), Span(" %", "faint")]


def _bar(part: CategoryPart, now: int, scale: int, room: int, style: str) -> list[Span]:
    drawn = bars.staged(now, max(0, part.tokens - now), scale, room, style)
    return [*drawn, Span(" " * max(0, room - width(drawn)))]


def _key(sign: Sign) -> Span:
    """The digit that filters a category."""
    return Span(f" {sign.key or ' '} ", "faint")


def _money(usd: float | None, room: int) -> Span:
    return Span(f"{numbers.NONE if usd is None else numbers.money(usd):>{room}}", "dim")


def folded(parts: Sequence[CategoryPart], room: int) -> list[Span]:
    """One row for several small categories: their glyphs and their sum, as it is under staged edits."""
    tokens = sum(part.tokens if part.after is None else part.after for part in parts)
    glyphs = [Span(part.sign.glyph + " ", part.sign.style) for part in parts]
    taken = 3 + 2 * len(parts)
    share = numbers.share(sum(part.share for part in parts), 1 if room >= BAR_FROM else 0)
    return [
        Span("   "),
        *glyphs,
        Span(f"{numbers.tokens(tokens):>{max(0, 23 - taken)}}"),
        Span(f"{share:>{max(0, room - 1 - max(23, taken))}}", "dim"),
    ]


def extra(name: str, figure: str, share: float, room: int) -> list[Span]:
    """A row that is no category, with its share of the whole."""
    return [Span(f"   {name:<13}{figure:>7} ", "faint"), *_share(share, 1 if room >= BAR_FROM else 0, room - 24)]
