"""Home's preview of a session: its largest context by category, growth, texts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

from ctxtui.core.model_names import short_model
from ctxtui.views.home.columns import (
    abbreviate_home,
    describe_error,
    format_least_cost,
    format_tags,
    sorts,
)
from ctxtui.views.home.session_list import ListOrder
from ctxtui.views.model.session_summary import SessionSummary
from ctxtui.views.text import bars, cells, numbers, safe_text, sums
from ctxtui.views.text.signs import CATEGORY, MARK, NOT_RECORDED, category
from ctxtui.views.text.span import Span, Spans, merged, padded
from ctxtui.views.text.sums import ROW

LOW_HEIGHT: Final = 30
TALL_HEIGHT: Final = 50
MIN_HEIGHT: Final = 16
NARROW: Final = 100
WIDE: Final = 160
AXIS: Final = 5
"""Cells of the growth strip's axis, without its blank."""
NAME_CELLS: Final = 12
FIGURE_CELLS: Final = 8
MAX_BAR_CELLS: Final = 40
_BOLD_SHARE: Final = 0.2
"""Share of the context from which the tokens of a category are bold."""
UNRECORDED_PARTS: Final = ("not recorded", "re-attached", "residual")
RESIDUAL_HEIGHT: Final = 8
"""Height from which the residual is shown."""


class PreviewSize(NamedTuple):
    """`height` of the preview in lines with its rule (0: none), and its left pane's width."""

    height: int
    composition: int


def preview_size(width: int, height: int) -> PreviewSize:
    lines = 0 if height < MIN_HEIGHT or width < 60 else 7 if height < LOW_HEIGHT else 11 if height < TALL_HEIGHT else 16
    return PreviewSize(lines, 30 if width < NARROW else 45 if width < WIDE else width * 44 // 100)


def composition_notes(s: SessionSummary) -> list[Span]:
    """The rule's note of the composition: the call with the largest context, and the window."""
    limit: list[Span] = []
    if s.window_origin:
        # Late import: not needed for Home's first frame.
        from ctxtui.analysis.context_window import ContextWindow

        limit = bars.limit_words(ContextWindow(s.window, s.usable, s.window_origin))
    here = [Span(f"call {s.peak_call:,}", "dim")] if s.peak_call else []
    return [*here, Span(" of " if here and limit else "", "dim"), *limit]


def composition(s: SessionSummary, room: int, height: int) -> list[Spans]:
    """Categories at the peak in prompt order.

    The smallest categories share one row if `height` is too small.
    """
    if not s.known:
        return [[Span(f" {numbers.NONE} ", "faint")]]
    parts = [part for part in s.composition_at_peak if part[1]]
    if not parts:
        return [[Span("" if s.error else " No context recorded.", "dim")]]
    total = s.peak_tokens or sum(tokens for _, tokens in parts)
    unrecorded = [
        part for part in parts if part[0] in UNRECORDED_PARTS and (part[0] != "residual" or height >= RESIDUAL_HEIGHT)
    ]
    own_rows, folded = _fold([part for part in parts if part[0] not in UNRECORDED_PARTS], height - len(unrecorded))
    scale = max(tokens for _, tokens in parts)
    lines: list[Spans] = [_category(name, tokens, scale, total, room) for name, tokens in own_rows]
    if folded:
        lines.append(_folded(folded, total, room))
    lines += [_category(name, tokens, scale, total, room) for name, tokens in unrecorded]
    return lines[:height]


def explain_figures(s: SessionSummary) -> dict[str, str]:
    """Explanations of the preview's figures, by glossary word."""
    parts = [part for part in s.composition_at_peak if part[1]]
    total = s.peak_tokens or sum(tokens for _, tokens in parts)
    explanations = {}
    for name, tokens in parts:
        word = name if name in UNRECORDED_PARTS else category(name).name
        explanations[word] = sums.share(tokens, total, " in the largest context") if tokens > 0 else ""
    if total and sum(tokens for _, tokens in parts) == total:
        terms = " ".join(
            (f"{'+' if tokens >= 0 else '−'} {abs(tokens):,}" if n else f"{tokens:,}")
            for n, (_, tokens) in enumerate(parts)
        )
        explanations |= dict.fromkeys(
            ("tokens", "block", "share", "composition at peak"), f"{total:,} tokens = {terms}."
        )
    if s.usable:
        explanations["usable"] = sums.share(s.peak_tokens, s.usable, " that are usable")
    at = f", at call {s.peak_call:,}" if s.peak_call else ""
    explanations |= dict.fromkeys(("growth", ROW), f"The largest context has {total:,} tokens{at}.")
    explanations["call"] = f"{numbers.many(s.calls, 'call')} in all" + (
        f", {s.main_calls:,} of them in the main thread." if s.main_calls else "."
    )
    explanations["miss"] = f"{s.misses:,} of {s.calls:,} calls read less than was cached."
    if s.main_usd is not None and s.total_tokens > s.main_tokens:
        explanations["cost"] = f"{numbers.money(s.main_usd)} in the main thread, {format_least_cost(s)} in all."
    return explanations


Part = tuple[str, int]


def _fold(parts: Sequence[Part], height: int) -> tuple[list[Part], list[Part]]:
    if len(parts) <= height:
        return list(parts), []
    largest = set(sorted(parts, key=lambda part: -abs(part[1]))[: max(0, height - 1)])
    return [p for p in parts if p in largest], [p for p in parts if p not in largest]


def _category(name: str, tokens: int, scale: int, total: int, room: int) -> list[Span]:
    sign = CATEGORY[NOT_RECORDED] if name in UNRECORDED_PARTS else category(name)
    faint = name in UNRECORDED_PARTS
    figure = numbers.signed(tokens) if name == "residual" else numbers.tokens(tokens)
    figure = numbers.guessed(tokens) if name in UNRECORDED_PARTS[:-1] else figure
    bold = " bold" if tokens >= _BOLD_SHARE * total and not faint else ""
    glyph = Span(" ") if name == "residual" else sign.span
    share = numbers.share(tokens / total if total else 0.0, 1 if room >= 40 else 0)
    label = name if faint else sign.name
    bar = min(MAX_BAR_CELLS, max(0, room - 3 - NAME_CELLS - FIGURE_CELLS - 1 - 8 - 2))
    return [
        Span(" "),
        glyph,
        Span(" "),
        Span(cells.left(label, NAME_CELLS), "faint" if faint else "ink"),
        Span(cells.right(figure, FIGURE_CELLS), "faint" if faint else f"ink{bold}"),
        Span(" "),
        Span(cells.left(bars.line(max(0, tokens), scale, bar), bar), "faint" if faint else sign.style),
        Span(cells.right(share[:-2], room - 3 - NAME_CELLS - FIGURE_CELLS - 1 - bar - 3), "faint" if faint else "dim"),
        Span(" % ", "faint"),
    ]


def _folded(parts: Sequence[Part], total: int, room: int) -> list[Span]:
    tokens = sum(tokens for _, tokens in parts)
    glyphs = [span for name, _ in parts for span in (category(name).span, Span(" "))]
    left = padded([Span(" "), *glyphs], 3 + NAME_CELLS)
    share = numbers.share(tokens / total if total else 0.0, 1 if room >= 40 else 0)
    figure = Span(cells.right(numbers.tokens(tokens), FIGURE_CELLS))
    return [
        *left,
        figure,
        Span(cells.right(share[:-2], room - 3 - NAME_CELLS - FIGURE_CELLS - 3), "dim"),
        Span(" % ", "faint"),
    ]


def growth_notes(s: SessionSummary) -> list[Span]:
    """The rule's note of the growth: calls, misses, compactions, changes of model."""
    if not s.known or s.error:
        return []
    copied = f" and {s.copied:,} copied" if s.copied else ""
    spans = [Span(f"{numbers.many(s.calls, 'call')}{copied}", "dim"), *_without_subagents(s)]
    if s.misses:
        spans += [Span("   "), MARK["miss"].span, Span(f" {numbers.many(s.misses, 'miss', 'misses')}", "dim")]
    for mark, count in (("compaction", s.compactions), ("model", s.model_changes)):
        if count:
            spans += [Span("   "), MARK[mark].span, Span(f" {count}", "dim")]
    return spans


def _without_subagents(s: SessionSummary) -> list[Span]:
    if not s.subagents or not s.main_calls:
        return []
    main = numbers.least(s.main_usd, s.main_unpriced > 0 or s.main_partial > 0)
    return [Span(f", {s.main_calls:,} for {main} without {numbers.many(s.subagents, 'subagent')}", "dim")]


def growth(s: SessionSummary, room: int, height: int, *, home: str = "", colour: bool = True) -> list[Spans]:
    """The strip of the calls with their marks, then texts of the session.

    It takes at most `height` lines.
    """
    if not s.known:
        return [[Span(f" {numbers.NONE * 3}", "faint")], *_texts(s, room, home)][:height]
    if s.error:
        return [[Span(f" ▲ {describe_error(s)}", "warn")], *_path_line(s, room, home)][:height]
    texts = _texts(s, room, home)
    strip_height = height - len(texts)
    if strip_height < 2 and height > 2:
        # A low pane shows the strip, the sentence and the path.
        texts, strip_height = [*texts[: max(0, height - 2)], texts[-1]], 1
    return [*_strip(s, room, strip_height, colour), *texts][:height]


def _strip(s: SessionSummary, room: int, height: int, colour: bool) -> list[Spans]:
    if not s.growth or height < 1:
        return [[Span(" No calls recorded.", "dim")]] if height > 0 else []
    # Late import: not needed for Home's first frame.
    from ctxtui.views.inspector import strip_columns

    strip_width = max(1, room - AXIS - 3)
    calls = [strip_columns.StripColumn(c.read, c.write, c.fresh, marks=c.marks) for c in s.growth]
    columns = strip_columns.bucket_columns(calls, strip_width)
    per = min(4, max(1, strip_width // len(columns)))
    marked = height >= 3
    rows = height - marked
    most = max(column.total for column in calls)
    unit = 10 ** max(0, len(str(int(most))) - 3)
    top = float(max(1, math.ceil(most / unit) * unit))
    drawn = strip_columns.rows(columns, rows, top, per=per, colour=colour)
    lines: list[Spans] = [
        [Span(" "), *axis, *line] for axis, line in zip(strip_columns.axis(rows, top, AXIS), drawn, strict=True)
    ]
    if marked:
        lines.append([Span(" " * (AXIS + 2)), *strip_columns.marks(columns, per=per)])
    return lines


def _texts(s: SessionSummary, room: int, home: str) -> list[Spans]:
    out: list[Spans] = []
    if s.refused:
        out.append(
            _text_line(Span("✗", "crit"), f"would be refused (`ctxtui repair` fixes it): {s.refused}", "warn", room)
        )
    if s.sentence:
        out.append(_text_line(Span("▼" if s.misses else " ", "crit"), s.sentence, "ink", room))
    if s.first_user_text:
        out.append(_text_line(category("user").span, s.first_user_text, "ink bold", room))
    if s.last_answer:
        out.append(_text_line(category("assistant").span, s.last_answer, "dim", room))
    if s.advice:
        out.append(_text_line(Span(" "), s.advice, "dim", room))
    models = ", ".join(f"{short_model(name)} {numbers.many(n, 'call')}" for name, n in s.models)
    facts = [numbers.many(n, word) for n, word in ((s.turns, "turn"), (s.subagents, "subagent")) if n]
    if s.subscription:
        facts.append(f"subscription, {format_least_cost(s)} list price")
    if s.tags:
        facts.insert(0, format_tags(s))
    if models or facts:
        out.append(_two_ends(models, "   ".join(facts), "dim", room))
    return [*out, *_path_line(s, room, home)]


def _path_line(s: SessionSummary, room: int, home: str) -> list[Spans]:
    facts = ([f"{s.lines:,} lines"] if s.lines else []) + ([f"{s.skipped:,} skipped"] if s.known and s.path else [])
    line = _two_ends(abbreviate_home(s.path, home) or s.stored, "   ".join(facts), "faint", room)
    if s.skipped:
        line = [Span(span.text, "warn") if "skipped" in span.text else span for span in line]
    return [line]


def _text_line(glyph: Span, text: str, style: str, room: int) -> list[Span]:
    words = cells.fit(safe_text.one_line(text), max(0, room - 4))
    return [Span(" "), glyph, Span(" "), *safe_text.spans(words, style)]


def _two_ends(left: str, right: str, style: str, room: int) -> list[Span]:
    """A line with left and right text; the left one is shortened, a path in its middle."""
    free = max(0, room - 3 - cells.width(right))
    left = safe_text.one_line(left)
    if "/" in left and cells.width(left) > free - 2:
        left = shorten_path(left, free - 2)
    return merged([Span(" "), Span(cells.left(left, free), style), Span(f" {right} ", "faint" if right else style)])


def shorten_path(path: str, room: int) -> str:
    if cells.width(path) <= room or room < 8:
        return cells.fit(path, room)
    name = path.rpartition("/")[2]
    if len(name) > room - 4:
        half = max(2, (room - 1) // 2)
        return cells.cut(path, half) + "…" + path[-(room - half - 1) :]
    return cells.cut(path, max(0, room - len(name) - 3)) + "…/" + name


def status_line(done: int, total: int, reading: bool, list_order: ListOrder) -> list[Span]:
    """Sort key and order, after the progress of reading while it lasts."""
    sort = sorts()[list_order.sort]
    order = f" sort: {sort.name} {'↓' if list_order.falling else '↑'} "
    right = [Span("S", "accent bold"), Span(order, "dim")]
    if not reading or done >= total:
        return right
    return [Span(f"reading {done:,} of {total:,} ", "dim"), *bars.progress(done, total, 15), Span("   "), *right]


def empty_list_text(has_sessions: bool, words: str) -> Spans:
    if has_sessions and words:
        return [Span(f"No session matches “{words}”.  ", "dim"), Span("esc", "accent bold"), Span(" show all", "dim")]
    return [
        Span("No recorded session on this machine.  ", "dim"),
        Span("ctxtui PATH", "accent"),
        Span(" opens a file", "dim"),
    ]


WELCOME_LINES: Final = (
    "See what the model read: every call of a recorded agent session, block by block, with tokens, cache and money.",
    "Below are the sessions found on this machine, those of this directory first, and four samples to try.",
    "Read-only; nothing leaves this machine.",
)
WELCOME_SHORT: Final = (
    "What the model read, call by call: every block with tokens, cache, money.",
    "Below: the sessions of this machine, this directory's first; then samples.",
    "Read-only; nothing leaves this machine.",
)
NO_SESSIONS_LINES: Final = (
    WELCOME_LINES[0],
    "No session was found on this machine yet. Below: four samples to try, and the places where ctxtui looked.",
    WELCOME_LINES[2],
)
NO_SESSIONS_SHORT: Final = (
    WELCOME_SHORT[0],
    "No session found yet. Below: four samples, and where ctxtui looked.",
    WELCOME_SHORT[2],
)
WELCOME_KEYS: Final = (("enter", "open"), ("[ ]", "calls"), ("/", "filter"), ("?", "help"), ("q", "quit"))
WELCOME_HEIGHT: Final = 1 + len(WELCOME_LINES) + 1
"""Lines of the pane with its rule."""


def welcome(room: int, *, has_sessions: bool = True) -> list[Spans]:
    """The body of the welcome pane; `has_sessions`: there are others than the samples."""
    long, short = (WELCOME_LINES, WELCOME_SHORT) if has_sessions else (NO_SESSIONS_LINES, NO_SESSIONS_SHORT)
    words = long if room >= cells.width(long[0]) + 4 else short
    lines: list[Spans] = [[Span(f"  {line}")] for line in words]
    keys: list[Span] = [Span("  ")]
    for key, label in WELCOME_KEYS:
        keys += [Span(key, "accent bold"), Span(f" {label}   ", "dim")]
    return [*lines, keys]
