"""The context pane: composition by category in prompt order, unrecorded tokens, residual."""

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
BAR_FROM: Final = 40


class CategoryPart(Struct, frozen=True, kw_only=True):
    """One category of the composition.

    - `share`: its share of the context (0 to 1), after staged edits if there are any.
    - `change`: tokens more than in the previous call (None: unknown).
    - `this`, `so_far`: USD in this call, and in all calls so far (None: unknown).
    - `shown`: how the transcript shows its blocks: ``line``, ``full`` or ``hidden``.
    - `after`: tokens under staged edits (None: there are none).
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
        return category_at(self.category)


def _column_widths(room: int) -> tuple[int, int, int]:
    """Cells of the bar, whether money is shown (0 or 1), and decimals of the share."""
    # Name and tokens take 24 cells; change and money 29 and the share 13, without them the share 9.
    if room >= HEADS_FROM:
        return max(6, room - 24 - 42), 1, 1
    return (max(0, room - 33), 0, 1) if room >= BAR_FROM else (0, 0, 0)


def heads(room: int) -> list[Span]:
    bar, _, _ = _column_widths(room)
    text = f"{'tokens':>23} {'':{bar}}{'Δ call':>8}{'this call':>11}{'so far':>10}"
    text += f"{'share':>{room - 1 - len(text)}}"
    return [Span(text, "faint")]


def _category_row(part: CategoryPart, scale: int, room: int) -> list[Span]:
    bar, money, decimals = _column_widths(room)
    sign, is_unrecorded = part.sign, part.category >= NOT_RECORDED
    big = "bold" if part.share >= BOLD_SHARE and not is_unrecorded else ""
    now = part.tokens if part.after is None else part.after
    figure = numbers.guessed(part.tokens) if is_unrecorded else numbers.tokens(now)
    changed = "warn" if now < part.tokens else "add" if now > part.tokens else "ink"
    name_style = {"hidden": "faint strike", "full": "ink underline"}.get(part.shown, "ink")
    name = (
        [Span(f"   {sign.name}", "faint")]
        if is_unrecorded
        else [Span(f" {sign.key or ' '} ", "faint"), sign.span, Span(" "), Span(sign.name, name_style)]
    )
    line = [
        *name,
        Span(cells.right(figure, 23 - width(name)), "faint" if is_unrecorded else f"{changed} {big}".strip()),
        Span(" "),
    ]
    if bar:
        line += _bar(part, now, scale, bar, "faint" if is_unrecorded else sign.style)
    if money:
        change = numbers.NONE if not part.change else numbers.signed(part.change)
        line.append(Span(f"{change:>8}", "ink" if part.change else "dim"))
        line.append(_money(part.this, 11))
        line.append(_money(part.so_far, 10))
    return [*line, *_share(part.share, decimals, room - 24 - bar - 29 * money)]


def _share(share: float, decimals: int, room: int) -> list[Span]:
    return [Span(f"{numbers.share(share, decimals)[:-2]:>{max(0, room - 3)}}", "dim"), Span(" %", "faint")]


def _bar(part: CategoryPart, now: int, scale: int, room: int, style: str) -> list[Span]:
    drawn = bars.staged(now, max(0, part.tokens - now), scale, room, style)
    return [*drawn, Span(" " * max(0, room - width(drawn)))]


def _money(usd: float | None, room: int) -> Span:
    return Span(f"{numbers.NONE if usd is None else numbers.money(usd):>{room}}", "dim")


def _folded_row(parts: Sequence[CategoryPart], room: int) -> list[Span]:
    tokens = sum(part.tokens if part.after is None else part.after for part in parts)
    glyphs = [Span(part.sign.glyph + " ", part.sign.style) for part in parts]
    share = numbers.share(sum(part.share for part in parts), 1 if room >= BAR_FROM else 0)
    line = [Span("   "), *glyphs, Span(f"{numbers.tokens(tokens):>{max(0, 20 - 2 * len(parts))}}")]
    return [*line, Span(f"{share:>{max(0, room - 1 - width(line))}}", "dim")]


NARROW_RESIDUAL_LINES = 4


class Composition(Struct, frozen=True, kw_only=True):
    """Composition of the context shown.

    - `half_width`: half of the 90 % interval of ctxtui's counts, as a share.
    - `parts`: the categories; empty while tokens are being counted.
    - `residual`: the total minus `parts`; `residual_cause`: its likely cause and first call.
    - `after`: the total under staged edits (None: there are none).
    """

    total: int
    reported: bool
    half_width: float
    parts: tuple[CategoryPart, ...]
    residual: int = 0
    residual_cause: str = ""
    after: int | None = None


def with_staged_edits(
    composition: Composition, applied: Mapping[int, int], changes: Mapping[int, int], without: int, after: int
) -> Composition:
    """Apply token changes of `applied` edits, then of staged ones (`changes`), by category.

    `without` is the total before the staged edits, `after` the total under them. The residual stays.
    """
    if not composition.parts:
        return composition
    parts_by_category = {part.category: part for part in composition.parts}
    for index in {*applied, *changes}:
        part = parts_by_category.get(index) or CategoryPart(category=index, tokens=0, share=0.0)
        parts_by_category[index] = replace(part, tokens=max(0, part.tokens + applied.get(index, 0)))
    tokens_after = {index: max(0, part.tokens + changes.get(index, 0)) for index, part in parts_by_category.items()}
    whole = max(1, after)
    parts = tuple(
        replace(parts_by_category[index], after=tokens_after[index], share=tokens_after[index] / whole)
        for index in sorted(parts_by_category)
    )
    return replace(composition, parts=parts, total=without, after=after)


def composition(
    scene: Scene,
    before: CallFigures | None = None,
    money: tuple[Sequence[float], Sequence[float]] | None = None,
    shown: Sequence[str] = (),
) -> Composition:
    """The composition of the call shown.

    `before`: figures of the previous call; `money`: USD by category index in this call, and so far.
    """
    current = scene.figures
    total = current.context_tokens
    weights = scene.book.weights(scene.call.model)
    if not current.counted:
        return Composition(total=total, reported=current.reported is not None, half_width=weights.half_width, parts=())
    tokens_by_category = dict(enumerate(current.categories.get(name, 0) for name in CATEGORIES)) | {
        NOT_RECORDED: current.not_recorded or 0,
        ATTACHED: current.attached,
    }
    previous = before.categories if before and before.counted else None
    parts = [
        CategoryPart(
            category=category,
            tokens=tokens,
            share=tokens / total if total else 0.0,
            change=None
            if previous is None or category >= NOT_RECORDED
            else tokens - previous.get(CATEGORIES[category], 0),
            this=money[0][category] if money else None,
            so_far=money[1][category] if money else None,
            shown=shown[category] if category < len(shown) else "line",
        )
        for category, tokens in tokens_by_category.items()
        if tokens or (category < len(shown) and shown[category] != "line")
    ]

    unexplained = explain_residual(scene.book, scene.call)
    return Composition(
        total=total,
        reported=current.reported is not None,
        half_width=weights.half_width,
        parts=tuple(parts),
        residual=current.residual,
        residual_cause=unexplained.describe(scene.number) if unexplained is not None else "",
    )


def notes(composition: Composition, room: int) -> list[Span]:
    """Text for the title rule: the total, how it was obtained, or the change by staged edits."""
    exact = numbers.exact(composition.total)
    if not composition.parts:
        return [Span(exact if composition.reported else numbers.NOT_YET, "ink bold"), Span(" counting", "dim")]
    sure = f"±{100 * composition.half_width:.0f} %" if composition.half_width else ""
    if composition.after is not None:
        before = Span(f"{numbers.tokens(composition.total)} → ", "dim")
        return [
            before,
            Span(numbers.tokens(composition.after), "ink bold"),
            Span(f" {sure}" if room >= BAR_FROM else "", "dim"),
        ]
    origin = " reported" if composition.reported else f" {sure or 'counted'}"
    if room < BAR_FROM:
        return [
            Span(numbers.tokens(composition.total), "ink bold"),
            Span("" if composition.reported else origin, "dim"),
        ]
    if composition.reported and room >= HEADS_FROM:
        rest = [Span("  residual ", "dim"), Span(numbers.signed(composition.residual))]
        return [Span(exact, "ink bold"), Span(origin, "dim"), *rest]
    return [Span(exact, "ink bold"), Span(origin, "dim")]


def _residual_lines(composition: Composition, room: int) -> list[Spans]:
    texts = safe_text.wrap(composition.residual_cause, max(16, room - 4))
    return [[Span(f"   {line}", "dim")] for line in (texts if room >= BAR_FROM else texts[:NARROW_RESIDUAL_LINES])]


def lines(composition: Composition, room: int, height: int, *, opened: bool = False) -> list[Spans]:
    """The pane's body: categories, unrecorded tokens, and the residual, `opened` or not.

    If `height` is too small, the smallest categories share a row.
    """
    out: list[Spans] = [heads(room)] if room >= HEADS_FROM else []
    free = height - len(out)
    rest = _residual_height(composition, room, opened)
    own_rows, small = fold(composition.parts, free - rest)
    scale = max((part.tokens for part in composition.parts), default=0)
    unrecorded = [part for part in own_rows if part.category >= NOT_RECORDED]
    out += [_category_row(part, scale, room) for part in own_rows if part.category < NOT_RECORDED]
    if small:
        out.append(_folded_row(small, room))
    out += [_category_row(part, scale, room) for part in unrecorded]
    if rest:
        whole = composition.total if composition.after is None else composition.after
        share = composition.residual / whole if whole else 0.0
        label = f"   {'residual':<13}{numbers.signed(composition.residual):>7} "
        out.append([Span(label, "faint"), *_share(share, 1 if room >= BAR_FROM else 0, room - 24)])
        out += _residual_lines(composition, room) if opened else ()
    if not composition.parts:
        out.append([Span(" · counting tokens", "faint")])
    return out[: max(0, height)]


def _residual_height(composition: Composition, room: int, opened: bool) -> int:
    return bool(composition.residual) + (
        len(_residual_lines(composition, room)) if opened and composition.residual else 0
    )


def fold(parts: Sequence[CategoryPart], room: int) -> tuple[list[CategoryPart], list[CategoryPart]]:
    if len(parts) <= room:
        return list(parts), []
    by_size = sorted(parts, key=lambda part: part.tokens, reverse=True)
    largest = set(by_size[: max(0, room - 1)])
    return [part for part in parts if part in largest], [part for part in parts if part not in largest]


def unfolded_height(composition: Composition, room: int, *, opened: bool = False) -> int:
    return max(1, len(composition.parts)) + _residual_height(composition, room, opened) + (room >= HEADS_FROM)


def part_at(
    composition: Composition, room: int, height: int, line: int, *, opened: bool = False
) -> CategoryPart | None:
    """The category in body line `line`; None for other lines."""
    own_rows, small = fold(
        composition.parts, height - (room >= HEADS_FROM) - _residual_height(composition, room, opened)
    )
    rows: list[CategoryPart | None] = [part for part in own_rows if part.category < NOT_RECORDED]
    rows += [None] if small else []
    rows += [part for part in own_rows if part.category >= NOT_RECORDED]
    line -= room >= HEADS_FROM
    return rows[line] if 0 <= line < len(rows) else None


def is_residual(composition: Composition, room: int, height: int, line: int, *, opened: bool = False) -> bool:
    drawn = len(lines(composition, room, height, opened=opened))
    return drawn - _residual_height(composition, room, opened) <= line < drawn


def next_scene(scene: Scene, model: str) -> Scene | None:
    """The scene of the next request in the thread of `scene`; None while it is not counted."""
    last = scene.calls[-1]
    tip = scene.tip
    if tip == scene.head and not last.id:
        return scene if scene.counted else None
    call = Call("", scene.thread, tip, tip, tip, model=model or last.model, fidelity=Fidelity.WIRE, epoch=last.epoch)
    if not scene.running.is_counted(tip) or not scene.book.is_counted(call.model, tip):
        return None
    return replace(scene, calls=[*scene.calls, call], index=len(scene.calls), figures=figures(scene.book, call))


def with_answer(composition: Composition, tokens: Mapping[int, int]) -> Composition:
    """Add an answer that is being received: its counted `tokens` by category index."""
    more = sum(tokens.values())
    if not more or not composition.parts:
        return composition
    total = composition.total + more
    parts = {part.category: part for part in composition.parts}
    for category, count in tokens.items():
        old = parts.get(category) or CategoryPart(category=category, tokens=0, share=0.0)
        parts[category] = replace(old, tokens=old.tokens + count)
    shared = [replace(part, share=part.tokens / total if total else 0.0) for part in parts.values()]
    return replace(
        composition, total=total, reported=False, parts=tuple(sorted(shared, key=lambda part: part.category))
    )
