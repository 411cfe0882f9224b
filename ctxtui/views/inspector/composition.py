"""The context pane: what a context is made of, by category in prompt order; what is not recorded; the residual."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.analysis.figures import CallFigures, figures
from ctxtui.analysis.residual import explain_residual
from ctxtui.core.call import Call, Fidelity
from ctxtui.core.category import CATEGORIES
from ctxtui.views.model.scene import Scene
from ctxtui.views.text import bars, cells, numbers, safe_text
from ctxtui.views.text.signs import ATTACHED, NOT_RECORDED, Sign, category_at
from ctxtui.views.text.span import Span, Spans, width

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


_FEW = 4
"""Lines of the opened residual in a narrow pane."""


class Composition(Struct, frozen=True, kw_only=True):
    """What the context shown is made of. `residual` is what the report holds beyond our figures, `says` what it is, its
    likely cause and since when ("" where that is not known); `half_width` the half of the 90 % interval of our figures
    as a share; `parts` is empty while tokens are being counted. `after` is what the total comes to under staged edits,
    None where nothing is staged."""

    total: int
    reported: bool
    half_width: float
    parts: tuple[CategoryPart, ...]
    residual: int = 0
    says: str = ""
    after: int | None = None


def staged(what: Composition, changes: Mapping[int, int], without: int, after: int) -> Composition:
    """`what` under edits that give each category (by index) so many tokens more, or less: the total is `without` the
    edits in question and `after` them. The residual stays, for nobody knows which blocks it belongs to."""
    if not what.parts:
        return what
    known = {part.category: part for part in what.parts}
    known |= {index: CategoryPart(category=index, tokens=0, share=0.0) for index in changes if index not in known}
    left = {index: max(0, part.tokens + changes.get(index, 0)) for index, part in known.items()}
    whole = max(1, after)
    parts = tuple(replace(known[index], after=left[index], share=left[index] / whole) for index in sorted(known))
    return replace(what, parts=parts, total=without, after=after)


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
        return Composition(total=total, reported=got.reported is not None, half_width=weights.half_width, parts=())
    known = dict(enumerate(got.categories.get(name, 0) for name in CATEGORIES)) | {
        NOT_RECORDED: got.not_recorded or 0,
        ATTACHED: got.attached,
    }
    was = before.categories if before and before.counted else None
    parts = [
        CategoryPart(
            category=category,
            tokens=tokens,
            share=tokens / total if total else 0.0,
            change=None if was is None or category >= NOT_RECORDED else tokens - was.get(CATEGORIES[category], 0),
            this=money[0][category] if money and category <= ATTACHED else None,
            so_far=money[1][category] if money and category <= ATTACHED else None,
            shown=shown[category] if category < len(shown) else "line",
        )
        for category, tokens in known.items()
        if tokens or (category < len(shown) and shown[category] != "line")
    ]

    left = explain_residual(scene.book, scene.call)
    return Composition(
        total=total,
        reported=got.reported is not None,
        half_width=weights.half_width,
        parts=tuple(parts),
        residual=got.residual,
        says=left.describe(scene.number) if left is not None else "",
    )


def notes(what: Composition, room: int) -> list[Span]:
    """The exact total for the rule, and how it was obtained, with its interval where nobody reported it: that of the
    blocks of a reported one stands behind `=`."""
    exact = numbers.exact(what.total)
    if not what.parts:
        return [Span(exact if what.reported else numbers.NOT_YET, "ink bold"), Span(" counting", "dim")]
    sure = f"±{100 * what.half_width:.0f} %" if what.half_width else ""
    if what.after is not None:
        before = Span(f"{numbers.tokens(what.total)} → ", "dim")
        return [
            before,
            Span(numbers.tokens(what.after), "ink bold"),
            Span(f" {sure}" if room >= BAR_FROM else "", "dim"),
        ]
    told = " reported" if what.reported else f" {sure or 'counted'}"
    if room < BAR_FROM:
        return [Span(numbers.tokens(what.total), "ink bold"), Span("" if what.reported else told, "dim")]
    if what.reported and room >= HEADS_FROM:
        rest = [Span("  residual ", "dim"), Span(numbers.signed(what.residual))]
        return [Span(exact, "ink bold"), Span(told, "dim"), *rest]
    return [Span(exact, "ink bold"), Span(told, "dim")]


def told(what: Composition, room: int) -> list[Spans]:
    """The opened residual: since when, its likely cause and, where there is room, what it is."""
    texts = safe_text.wrap(what.says, max(16, room - 4))
    return [[Span(f"   {line}", "dim")] for line in (texts if room >= BAR_FROM else texts[:_FEW])]


def lines(what: Composition, room: int, height: int, *, opened: bool = False) -> list[Spans]:
    """The pane's body: heads where there is room for them, the categories, not recorded, the residual, which may be
    `opened`. What does not fit in `height` is folded into one row of glyphs with their sum, smallest first."""
    out: list[Spans] = [heads(room)] if room >= HEADS_FROM else []
    free = height - len(out)
    rest = _rest_lines(what, room, opened)
    kept, small = fold(what.parts, free - rest)
    scale = max((part.tokens for part in what.parts), default=0)
    last = [part for part in kept if part.category >= NOT_RECORDED]
    out += [draw(part, scale, room) for part in kept if part.category < NOT_RECORDED]
    if small:
        out.append(folded(small, room))
    out += [draw(part, scale, room) for part in last]
    if rest:
        whole = what.total if what.after is None else what.after
        share = what.residual / whole if whole else 0.0
        out.append(extra("residual", numbers.signed(what.residual), share, room))
        out += told(what, room) if opened else ()
    if not what.parts:
        out.append([Span(" · counting tokens", "faint")])
    return out[: max(0, height)]


def _rest_lines(what: Composition, room: int, opened: bool) -> int:
    """Lines of the residual."""
    return bool(what.residual) + (len(told(what, room)) if opened and what.residual else 0)


def fold(parts: Sequence[CategoryPart], room: int) -> tuple[list[CategoryPart], list[CategoryPart]]:
    """The parts that get a row of their own in `room` rows, and the smallest ones, which share one."""
    if len(parts) <= room:
        return list(parts), []
    by_size = sorted(parts, key=lambda part: part.tokens, reverse=True)
    kept = set(by_size[: max(0, room - 1)])
    return [part for part in parts if part in kept], [part for part in parts if part not in kept]


def rows_wanted(what: Composition, room: int, *, opened: bool = False) -> int:
    """How many lines the pane would fill without folding."""
    return max(1, len(what.parts)) + _rest_lines(what, room, opened) + (room >= HEADS_FROM)


def part_at(what: Composition, room: int, height: int, line: int, *, opened: bool = False) -> CategoryPart | None:
    """The category in body line `line`, for a click on it."""
    kept, _ = fold(what.parts, height - (room >= HEADS_FROM) - _rest_lines(what, room, opened))
    line -= room >= HEADS_FROM
    return kept[line] if 0 <= line < len(kept) else None


def is_residual(what: Composition, room: int, height: int, line: int, *, opened: bool = False) -> bool:
    """Whether body line `line` belongs to the residual, for a click on it."""
    drawn = len(lines(what, room, height, opened=opened))
    return drawn - _rest_lines(what, room, opened) <= line < drawn


def next_scene(scene: Scene, model: str) -> Scene | None:
    """The scene of the request that would be sent now, in `scene`'s thread; None while it is not counted."""
    last = scene.calls[-1]
    tip = scene.tip
    if tip == scene.head and not last.id:
        return scene if scene.counted else None
    call = Call("", scene.thread, tip, tip, tip, model=model or last.model, fidelity=Fidelity.WIRE, epoch=last.epoch)
    if not scene.running.is_counted(tip) or not scene.book.is_counted(call.model, tip):
        return None
    return replace(scene, calls=[*scene.calls, call], index=len(scene.calls), figures=figures(scene.book, call))


def with_answer(what: Composition, tokens: Mapping[int, int]) -> Composition:
    """`what` with the `tokens` by category of an answer that comes in."""
    more = sum(tokens.values())
    if not more or not what.parts:
        return what
    total = what.total + more
    parts = {part.category: part for part in what.parts}
    for category, count in tokens.items():
        old = parts.get(category) or CategoryPart(category=category, tokens=0, share=0.0)
        parts[category] = replace(old, tokens=old.tokens + count)
    shared = [replace(part, share=part.tokens / total if total else 0.0) for part in parts.values()]
    return replace(what, total=total, reported=False, parts=tuple(sorted(shared, key=lambda part: part.category)))
