"""Home's preview of one session: what its largest context was made of, how it grew, what was said."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

from ctxtui.views.home.columns import least_words, short_model, shortened_home, sorts, tagged, trouble
from ctxtui.views.home.session_list import ListOrder
from ctxtui.views.model.session_summary import SessionSummary
from ctxtui.views.text import bars, cells, numbers, safe_text, sums
from ctxtui.views.text.signs import CATEGORY, MARK, NOT_RECORDED, category
from ctxtui.views.text.span import Span, Spans, merged, padded
from ctxtui.views.text.sums import ROW

LOW: Final = 30
"""Lines of the screen under which the preview is as low as it can be."""
TALL: Final = 50
LEAST: Final = 16
"""Lines of the screen under which there is no preview."""
NARROW: Final = 100
WIDE: Final = 160
AXIS: Final = 5
"""Cells of the growth strip's axis, its blank not counted."""
_NAME: Final = 12
_FIGURE: Final = 8
_LONGEST: Final = 40
"""Cells of the longest bar."""
_BOLD_SHARE: Final = 0.2
_REST: Final = ("not recorded", "re-attached", "residual")
_ROOMY: Final = 8
"""Lines from which the residual has one."""


class PreviewSize(NamedTuple):
    """`height` of the preview with its rule in lines, 0 for none; cells of its left pane."""

    height: int
    composition: int


def size(width: int, height: int) -> PreviewSize:
    """The preview on a screen of `width` x `height` (look book, layout)."""
    lines = 0 if height < LEAST or width < 60 else 7 if height < LOW else 11 if height < TALL else 16
    return PreviewSize(lines, 30 if width < NARROW else 45 if width < WIDE else width * 44 // 100)


def composition_notes(s: SessionSummary) -> list[Span]:
    """For the rule: which call had the largest context, and the limit that was in force for it."""
    limit: list[Span] = []
    if s.window_origin:
        # Imported here: Home's first frame knows no window yet.
        from ctxtui.analysis.context_window import ContextWindow

        limit = bars.limit_words(ContextWindow(s.window, s.usable, s.window_origin))
    here = [Span(f"call {s.peak_call:,}", "dim")] if s.peak_call else []
    return [*here, Span(" of " if here and limit else "", "dim"), *limit]


def composition(s: SessionSummary, room: int, height: int) -> list[Spans]:
    """Categories at the peak in prompt order, with bars; the smallest share a row where `height` is too small."""
    if not s.known:
        return [[Span(f" {numbers.NONE} ", "faint")]]
    parts = [part for part in s.composition_at_peak if part[1]]
    if not parts:
        return [[Span("" if s.error else " No context recorded.", "dim")]]
    total = s.peak_tokens or sum(tokens for _, tokens in parts)
    rest = [part for part in parts if part[0] in _REST and (part[0] != "residual" or height >= _ROOMY)]
    kept, folded = _fold([part for part in parts if part[0] not in _REST], height - len(rest))
    scale = max(tokens for _, tokens in parts)
    lines: list[Spans] = [_category(name, tokens, scale, total, room) for name, tokens in kept]
    if folded:
        lines.append(_folded(folded, total, room))
    lines += [_category(name, tokens, scale, total, room) for name, tokens in rest]
    return lines[:height]


def sums_of(s: SessionSummary) -> dict[str, str]:
    """What the preview's figures are made of, by the glossary's words."""
    parts = [part for part in s.composition_at_peak if part[1]]
    total = s.peak_tokens or sum(tokens for _, tokens in parts)
    found = {}
    for name, tokens in parts:
        word = name if name in _REST else category(name).name
        found[word] = sums.share(tokens, total, " in the largest context") if tokens > 0 else ""
    if total and sum(tokens for _, tokens in parts) == total:
        terms = " ".join(
            (f"{'+' if tokens >= 0 else '−'} {abs(tokens):,}" if n else f"{tokens:,}")
            for n, (_, tokens) in enumerate(parts)
        )
        found |= dict.fromkeys(("tokens", "block", "share", "composition at peak"), f"{total:,} tokens = {terms}.")
    if s.usable:
        found["usable"] = sums.share(s.peak_tokens, s.usable, " that are usable")
    found |= dict.fromkeys(("growth", ROW), f"The largest context has {total:,} tokens, at call {s.peak_call:,}.")
    found["call"] = f"{s.calls:,} calls in all" + (
        f", {s.main_calls:,} of them in the main line." if s.main_calls else "."
    )
    found["miss"] = f"{s.misses:,} of {s.calls:,} calls read less than was cached."
    if s.main_usd is not None and s.calls > s.main_calls:
        found["cost"] = f"{numbers.money(s.main_usd)} in the main line, {least_words(s)} in all."
    return found


Part = tuple[str, int]


def _fold(parts: Sequence[Part], height: int) -> tuple[list[Part], list[Part]]:
    if len(parts) <= height:
        return list(parts), []
    kept = set(sorted(parts, key=lambda part: -abs(part[1]))[: max(0, height - 1)])
    return [p for p in parts if p in kept], [p for p in parts if p not in kept]


def _category(name: str, tokens: int, scale: int, total: int, room: int) -> list[Span]:
    sign = CATEGORY[NOT_RECORDED] if name in _REST else category(name)
    faint = name in _REST
    figure = numbers.signed(tokens) if name == "residual" else numbers.tokens(tokens)
    figure = numbers.guessed(tokens) if name in _REST[:-1] else figure
    bold = " bold" if tokens >= _BOLD_SHARE * total and not faint else ""
    glyph = Span(" ") if name == "residual" else sign.span
    share = numbers.share(tokens / total if total else 0.0, 1 if room >= 40 else 0)
    label = name if faint else sign.name
    bar = min(_LONGEST, max(0, room - 3 - _NAME - _FIGURE - 1 - 8 - 2))
    return [
        Span(" "),
        glyph,
        Span(" "),
        Span(cells.left(label, _NAME), "faint" if faint else "ink"),
        Span(cells.right(figure, _FIGURE), "faint" if faint else f"ink{bold}"),
        Span(" "),
        Span(cells.left(bars.line(max(0, tokens), scale, bar), bar), "faint" if faint else sign.style),
        Span(cells.right(share[:-2], room - 3 - _NAME - _FIGURE - 1 - bar - 3), "faint" if faint else "dim"),
        Span(" % ", "faint"),
    ]


def _folded(parts: Sequence[Part], total: int, room: int) -> list[Span]:
    tokens = sum(tokens for _, tokens in parts)
    glyphs = [span for name, _ in parts for span in (category(name).span, Span(" "))]
    left = padded([Span(" "), *glyphs], 3 + _NAME)
    share = numbers.share(tokens / total if total else 0.0, 1 if room >= 40 else 0)
    figure = Span(cells.right(numbers.tokens(tokens), _FIGURE))
    return [*left, figure, Span(cells.right(share[:-2], room - 3 - _NAME - _FIGURE - 3), "dim"), Span(" % ", "faint")]


def growth_notes(s: SessionSummary) -> list[Span]:
    """For the rule: calls, misses, compactions, changes of model."""
    if not s.known or s.error:
        return []
    copied = f" and {s.copied:,} copied" if s.copied else ""
    spans = [Span(f"{numbers.many(s.calls, 'call')}{copied}", "dim"), *_without(s)]
    if s.misses:
        spans += [Span("   "), MARK["miss"].span, Span(f" {s.misses} {'miss' if s.misses == 1 else 'misses'}", "dim")]
    for mark, count in (("compaction", s.compactions), ("model", s.model_changes)):
        if count:
            spans += [Span("   "), MARK[mark].span, Span(f" {count}", "dim")]
    return spans


def _without(s: SessionSummary) -> list[Span]:
    """What the session comes to without its subagents."""
    if not s.subagents or not s.main_calls:
        return []
    main = numbers.least(s.main_usd, s.main_unpriced > 0 or s.main_partial > 0)
    agents = f"subagent{'' if s.subagents == 1 else 's'}"
    return [Span(f", {s.main_calls:,} for {main} without {s.subagents:,} {agents}", "dim")]


def growth(s: SessionSummary, room: int, height: int, *, home: str = "", colour: bool = True) -> list[Spans]:
    """The strip of all calls with its marks, then what the session says of itself; `height` lines at most."""
    if not s.known:
        return [[Span(f" {numbers.NONE * 3}", "faint")], *_texts(s, room, home)][:height]
    if s.error:
        return [[Span(f" ▲ {trouble(s)}", "warn")], *_place(s, room, home)][:height]
    texts = _texts(s, room, home)
    tall = height - len(texts)
    if tall < 2 and height > 2:
        # A low pane keeps the strip, the sentence and the place.
        texts, tall = [*texts[: max(0, height - 2)], texts[-1]], 1
    return [*_strip(s, room, tall, colour), *texts][:height]


def _strip(s: SessionSummary, room: int, height: int, colour: bool) -> list[Spans]:
    if not s.growth or height < 1:
        return [[Span(" No calls recorded.", "dim")]] if height > 0 else []
    # Imported here: Home's first frame has no session whose growth is known.
    from ctxtui.views.inspector import strip_columns

    wide = max(1, room - AXIS - 3)
    calls = [strip_columns.StripColumn(c.read, c.write, c.fresh, marks=c.marks) for c in s.growth]
    columns = strip_columns.bucketed(calls, wide)
    per = min(4, max(1, wide // len(columns)))
    marked = height >= 3
    rows = height - marked
    top = _top(max(column.total for column in calls))
    drawn = strip_columns.rows(columns, rows, top, per=per, colour=colour)
    lines: list[Spans] = [
        [Span(" "), *axis, *line] for axis, line in zip(strip_columns.axis(rows, top, AXIS), drawn, strict=True)
    ]
    if marked:
        lines.append([Span(" " * (AXIS + 2)), *strip_columns.marks(columns, per=per)])
    return lines


def _top(tokens: float) -> float:
    """The axis' end: three digits, never less than what is drawn."""
    unit = 10 ** max(0, len(str(int(tokens))) - 3)
    return float(max(1, math.ceil(tokens / unit) * unit))


def _texts(s: SessionSummary, room: int, home: str) -> list[Spans]:
    out: list[Spans] = []
    if s.refused:
        out.append(_said(Span("✗", "crit"), f"ends refused, `ctxtui repair` mends it: {s.refused}", "warn", room))
    if s.sentence:
        out.append(_said(Span("▼" if s.misses else " ", "crit"), s.sentence, "ink", room))
    if s.first_user_text:
        out.append(_said(category("user").span, s.first_user_text, "ink bold", room))
    if s.last_answer:
        out.append(_said(category("assistant").span, s.last_answer, "dim", room))
    if s.advice:
        out.append(_said(Span(" "), s.advice, "dim", room))
    models = ", ".join(f"{short_model(name)} {n:,} call{'' if n == 1 else 's'}" for name, n in s.models)
    facts = [f"{n:,} {word}{'' if n == 1 else 's'}" for n, word in ((s.turns, "turn"), (s.subagents, "subagent")) if n]
    if s.subscription:
        facts.append(f"subscription, {least_words(s)} list price")
    if s.tags:
        facts.insert(0, tagged(s))
    if models or facts:
        out.append(_two(models, "   ".join(facts), "dim", room))
    return [*out, *_place(s, room, home)]


def _place(s: SessionSummary, room: int, home: str) -> list[Spans]:
    facts = ([f"{s.lines:,} lines"] if s.lines else []) + ([f"{s.skipped:,} skipped"] if s.known and s.path else [])
    line = _two(shortened_home(s.path, home) or s.stored, "   ".join(facts), "faint", room)
    if s.skipped:
        line = [Span(span.text, "warn") if "skipped" in span.text else span for span in line]
    return [line]


def _said(glyph: Span, text: str, style: str, room: int) -> list[Span]:
    words = cells.fit(safe_text.one_line(text), max(0, room - 4))
    return [Span(" "), glyph, Span(" "), *safe_text.spans(words, style)]


def _two(left: str, right: str, style: str, room: int) -> list[Span]:
    """A line with two ends; the left one is cut, a path in its middle."""
    free = max(0, room - 3 - cells.width(right))
    left = safe_text.one_line(left)
    if "/" in left and cells.width(left) > free - 2:
        left = shortened(left, free - 2)
    return merged([Span(" "), Span(cells.left(left, free), style), Span(f" {right} ", "faint" if right else style)])


def shortened(path: str, room: int) -> str:
    """A path in at most `room` cells: its beginning, ``…``, its end."""
    if cells.width(path) <= room or room < 8:
        return cells.fit(path, room)
    name = path.rpartition("/")[2]
    if len(name) > room - 4:
        half = max(2, (room - 1) // 2)
        return cells.cut(path, half) + "…" + path[-(room - half - 1) :]
    return cells.cut(path, max(0, room - len(name) - 3)) + "…/" + name


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
    lines: list[Spans] = [[Span(f"  {line}")] for line in words]
    keys: list[Span] = [Span("  ")]
    for key, label in KEYS:
        keys += [Span(key, "accent bold"), Span(f" {label}   ", "dim")]
    return [*lines, keys]
