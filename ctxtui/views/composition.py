"""The context pane: what a context is made of, by category in prompt order; what is not recorded; the residual."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ctxtui.core.category import CATEGORIES
from ctxtui.lab.figures import CallFigures
from ctxtui.views import bars, cells, numbers
from ctxtui.views.scene import Scene
from ctxtui.views.signs import CATEGORY, Sign
from ctxtui.views.span import Span, Spans, width

BOLD_SHARE: Final = 0.2
_TAIL: Final = len(CATEGORIES)
HEADS_FROM: Final = 70
"""Cells from which the pane has columns for the change, the money, and heads over them."""
_BAR_FROM: Final = 40


@dataclass(frozen=True, slots=True)
class Part:
    """One category: `tokens` in the context, `change` since the call before, USD in `this` call and `so_far`.

    `shown` is ``line``, ``full`` or ``hidden``: how the transcript shows its blocks. None: not known yet.
    """

    category: int
    tokens: int
    share: float
    change: int | None = None
    this: float | None = None
    so_far: float | None = None
    shown: str = "line"

    @property
    def sign(self) -> Sign:
        """Glyph, key and colour."""
        return CATEGORY[self.category]


@dataclass(frozen=True, slots=True)
class Composition:
    """What the context shown is made of. `residual` is what the report holds beyond our figures, `half_width` the
    half of the 90 % interval of our figures as a share; `parts` is empty while tokens are being counted."""

    total: int
    reported: bool
    half_width: float
    parts: tuple[Part, ...]
    residual: int


def composition(
    scene: Scene,
    before: CallFigures | None = None,
    money: tuple[Sequence[float], Sequence[float]] | None = None,
    shown: Sequence[str] = (),
) -> Composition:
    """The composition of the call shown. `before` are the figures of the call before it, `money` the USD by category
    index (last: not recorded) in this call and so far, `shown` how the transcript shows each category."""
    got = scene.figures
    total = got.context_tokens
    weights = scene.book.weights(scene.call.model)
    if not got.counted:
        return Composition(total, got.reported is not None, weights.half_width, (), 0)
    known = dict(enumerate(got.categories.get(name, 0) for name in CATEGORIES)) | {_TAIL: scene.missing}
    was = before if before and before.counted else None
    parts = []
    for category, tokens in known.items():
        hidden = bool(shown) and category < _TAIL and shown[category] != "line"
        if not tokens and not hidden:
            continue
        earlier = was.categories.get(CATEGORIES[category], 0) if was and category < _TAIL else None
        parts.append(
            Part(
                category,
                tokens,
                tokens / total if total else 0.0,
                None if earlier is None else tokens - earlier,
                money[0][category] if money else None,
                money[1][category] if money else None,
                shown[category] if hidden else "line",
            )
        )
    return Composition(total, got.reported is not None, weights.half_width, tuple(parts), got.residual)


def notes(what: Composition, room: int) -> list[Span]:
    """The exact total for the rule, and how it was obtained; the share of the interval belongs to our own figures."""
    exact = numbers.exact(what.total)
    if not what.parts:
        return [Span(exact if what.reported else numbers.NOT_YET, "ink bold"), Span(" counting", "dim")]
    sure = f"±{100 * what.half_width:.0f} %" if what.half_width else ""
    if room < _BAR_FROM:
        return [Span(numbers.tokens(what.total), "ink bold"), Span(f" {sure}", "dim")]
    if not what.reported:
        return [Span(exact, "ink bold"), Span(f" {sure or 'counted'}", "dim")]
    told = f" reported, blocks {sure}" if sure else " reported"
    if room >= HEADS_FROM:
        rest = [Span("  residual ", "dim"), Span(numbers.signed(what.residual), "ink")]
        return [Span(exact, "ink bold"), Span(told, "dim"), *rest]
    return [Span(exact, "ink bold"), Span(told, "dim")]


def lines(what: Composition, room: int, height: int) -> list[Spans]:
    """The pane's body: heads where there is room for them, the categories, not recorded, the residual. What does not
    fit in `height` is folded into one row of glyphs with their sum, smallest first."""
    out: list[Spans] = [_heads(room)] if room >= HEADS_FROM else []
    free = height - len(out)
    rest = bool(what.residual)
    kept, folded = fold(what.parts, free - rest)
    scale = max((part.tokens for part in what.parts), default=0)
    last = [part for part in kept if part.category == _TAIL]
    out += [_row(part, scale, room) for part in kept if part.category != _TAIL]
    if folded:
        out.append(_folded(folded, what.total, room))
    out += [_row(part, scale, room) for part in last]
    if rest:
        out.append(_extra("residual", numbers.signed(what.residual), room))
    if not what.parts:
        out.append([Span(" · counting tokens", "faint")])
    return out[: max(0, height)]


def fold(parts: Sequence[Part], room: int) -> tuple[list[Part], list[Part]]:
    """The parts that get a row of their own in `room` rows, and the smallest ones, which share one."""
    if len(parts) <= room:
        return list(parts), []
    by_size = sorted(parts, key=lambda part: part.tokens, reverse=True)
    kept = set(by_size[: max(0, room - 1)])
    return [part for part in parts if part in kept], [part for part in parts if part not in kept]


def rows_wanted(what: Composition, room: int) -> int:
    """How many lines the pane would fill without folding."""
    return max(1, len(what.parts)) + bool(what.residual) + (room >= HEADS_FROM)


def part_at(what: Composition, room: int, height: int, line: int) -> Part | None:
    """The category in body line `line`, for a click on it."""
    kept, _ = fold(what.parts, height - (room >= HEADS_FROM) - bool(what.residual))
    line -= room >= HEADS_FROM
    return kept[line] if 0 <= line < len(kept) else None


def _columns(room: int) -> tuple[int, int, int]:
    """Cells of the bar, whether money is shown, decimals of the share."""
    if room >= HEADS_FROM:
        return max(6, room - 24 - 42), 1, 1
    return (max(0, room - 33), 0, 1) if room >= _BAR_FROM else (0, 0, 0)


def _heads(room: int) -> list[Span]:
    bar, _, _ = _columns(room)
    text = f"{'tokens':>23} {'':{bar}}{'Δ call':>8}{'this call':>11}{'so far':>10}"
    text += f"{'share':>{room - 1 - len(text)}}"
    return [Span(text, "faint")]


def _row(part: Part, scale: int, room: int) -> list[Span]:
    bar, money, decimals = _columns(room)
    sign, lost = part.sign, part.category == _TAIL
    big = "bold" if part.share >= BOLD_SHARE and not lost else ""
    figure = numbers.guessed(part.tokens) if lost else numbers.tokens(part.tokens)
    name_style = {"hidden": "faint strike", "full": "ink underline"}.get(part.shown, "ink")
    name = (
        [Span("   not recorded", "faint")] if lost else [_key(sign), sign.span, Span(" "), Span(sign.name, name_style)]
    )
    line = [
        *name,
        Span(cells.right(figure, 23 - width(name)), "faint" if lost else f"ink {big}".strip()),
        Span(" "),
    ]
    if bar:
        drawn = bars.line(part.tokens, scale, bar)
        line.append(Span(drawn.ljust(bar), "faint" if lost else sign.style))
    if money:
        change = numbers.NONE if not part.change else numbers.signed(part.change)
        line.append(Span(f"{change:>8}", "ink" if part.change else "dim"))
        line.append(_money(part.this, 11))
        line.append(_money(part.so_far, 10))
    share = numbers.share(part.share, decimals)
    line += [Span(f"{share[:-2]:>{room - 1 - 24 - bar - 29 * money - 2}}", "dim"), Span(" %", "faint")]
    return line


def _key(sign: Sign) -> Span:
    """The digit that filters a category."""
    return Span(f" {sign.key or ' '} ", "faint")


def _money(usd: float | None, room: int) -> Span:
    return Span(f"{numbers.NONE if usd is None else numbers.money(usd):>{room}}", "dim")


def _folded(parts: Sequence[Part], total: int, room: int) -> list[Span]:
    tokens = sum(part.tokens for part in parts)
    glyphs = [Span(part.sign.glyph + " ", part.sign.style) for part in parts]
    taken = 3 + 2 * len(parts)
    share = numbers.share(tokens / total if total else 0.0, 1 if room >= _BAR_FROM else 0)
    return [
        Span("   "),
        *glyphs,
        Span(f"{numbers.tokens(tokens):>{max(0, 23 - taken)}}"),
        Span(f"{share:>{max(0, room - 1 - max(23, taken))}}", "dim"),
    ]


def _extra(name: str, figure: str, room: int) -> list[Span]:
    return [Span(f"   {name:<13}{figure:>7}", "faint")]
