"""The context pane: what a context is made of, by category in prompt order; what is not recorded; the residual."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.analysis.figures import CallFigures
from ctxtui.analysis.residual import residual
from ctxtui.core.category import CATEGORIES
from ctxtui.views.inspector import composition_row
from ctxtui.views.inspector.composition_row import BAR_FROM, HEADS_FROM, CategoryPart
from ctxtui.views.model.scene import Scene
from ctxtui.views.text import numbers, safe_text
from ctxtui.views.text.signs import ATTACHED, NOT_RECORDED
from ctxtui.views.text.span import Span, Spans

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

    left = residual(scene.book, scene.call)
    return Composition(
        total=total,
        reported=got.reported is not None,
        half_width=weights.half_width,
        parts=tuple(parts),
        residual=got.residual,
        says=left.says(scene.number) if left is not None else "",
    )


def notes(what: Composition, room: int) -> list[Span]:
    """The exact total for the rule, and how it was obtained; the share of the interval belongs to our own figures."""
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
    if room < BAR_FROM:
        return [Span(numbers.tokens(what.total), "ink bold"), Span(f" {sure}", "dim")]
    if not what.reported:
        return [Span(exact, "ink bold"), Span(f" {sure or 'counted'}", "dim")]
    told = f" reported, blocks {sure}" if sure else " reported"
    if room >= HEADS_FROM:
        rest = [Span("  residual ", "dim"), Span(numbers.signed(what.residual), "ink")]
        return [Span(exact, "ink bold"), Span(told, "dim"), *rest]
    return [Span(exact, "ink bold"), Span(told, "dim")]


def told(what: Composition, room: int) -> list[Spans]:
    """The opened residual: since when, its likely cause and, where there is room, what it is."""
    texts = safe_text.wrap(what.says, max(16, room - 4))
    return [[Span(f"   {line}", "dim")] for line in (texts if room >= BAR_FROM else texts[:_FEW])]


def lines(what: Composition, room: int, height: int, *, opened: bool = False) -> list[Spans]:
    """The pane's body: heads where there is room for them, the categories, not recorded, the residual, which may be
    `opened`. What does not fit in `height` is folded into one row of glyphs with their sum, smallest first."""
    out: list[Spans] = [composition_row.heads(room)] if room >= HEADS_FROM else []
    free = height - len(out)
    rest = _rest_lines(what, room, opened)
    kept, folded = fold(what.parts, free - rest)
    scale = max((part.tokens for part in what.parts), default=0)
    last = [part for part in kept if part.category >= NOT_RECORDED]
    out += [composition_row.draw(part, scale, room) for part in kept if part.category < NOT_RECORDED]
    if folded:
        out.append(composition_row.folded(folded, room))
    out += [composition_row.draw(part, scale, room) for part in last]
    if rest:
        whole = what.total if what.after is None else what.after
        share = what.residual / whole if whole else 0.0
        out.append(composition_row.extra("residual", numbers.signed(what.residual), share, room))
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
