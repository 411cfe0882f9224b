"""Rows of the transcript while edits are staged: what a block had, what it will have, and what stands between."""

from __future__ import annotations

from typing import Final

from ctxtui.core.block_content import read
from ctxtui.core.edit import REPAIR, USER
from ctxtui.core.edit_kinds import kind_of
from ctxtui.views.model.fates import Fate
from ctxtui.views.model.staging import New
from ctxtui.views.text import bars, cells, numbers, safe_text
from ctxtui.views.text.grid import Grid, figure, fitted
from ctxtui.views.text.signs import CATEGORY, GUTTER, MARK
from ctxtui.views.text.span import Span, Spans
from ctxtui.views.transcript.row_index import RuleRow
from ctxtui.views.transcript.rows import BAR_STEP, TranscriptRow
from ctxtui.views.transcript.staged_rows import BREAK, counts

_AUTHOR: Final = 17
"""Cells that the name of a policy may take."""


def draw(
    row: TranscriptRow,
    grid: Grid,
    cursor: str,
    fate: Fate | None,
    mark: str,
    *,
    broken: bool,
    author: str = USER,
) -> list[Span]:
    """A block's row. `fate` is what becomes of it, `mark` the name of another mark where nothing does (``pinned``,
    ``marked``, ``breakpoint``, ""); `broken`: it lies behind the place where the cached prefix ends. `author` is who
    put it in."""
    gutter = gutter_of(row.gutter, fate, broken=broken)
    words = _struck(row.words, fate) if fate is not None and fate.out else row.words
    if mark == "breakpoint":
        gutter, mark = MARK[mark].span, ""
    sign = _mark(fate) if fate is not None else MARK[mark].span if mark else Span(" ")
    before, after, bar = _figures(row, fate, grid)
    line = [
        gutter,
        Span(cursor, "accent" if cursor != "↑" else "dim"),
        *_turn(row, fate),
        Span(row.sign.text, "faint") if fate is not None and fate.out else row.sign,
        Span(" "),
        *_signed(words, grid.text, fate.author if fate is not None else author),
        Span(" "),
        sign,
    ]
    if grid.before:
        line.append(figure(before, "dim", grid.before))
    line += [figure(after.text, after.style, 7), Span(" ")]
    return [*line, *bar, Span(" ")] if grid.bar else line


def gutter_of(gutter: Span, fate: Fate | None, *, broken: bool) -> Span:
    """How a block will be charged that was charged as `gutter` says: what is out is not, what lies behind the cached
    prefix is written."""
    if fate is not None and fate.out:
        return Span(" ")
    return GUTTER["write"].span if broken and gutter.text.strip() else gutter


def _mark(fate: Fate) -> Span:
    """The mark of a block that changes; dim where only a repair took it."""
    sign = MARK[fate.mark]
    return Span(sign.glyph, "dim") if fate.repair else sign.span


def _signed(words: Spans, room: int, author: str) -> list[Span]:
    """The words, and at their end the policy that changed the block, where there is room for both."""
    name = "" if author in (USER, REPAIR) else cells.fit(safe_text.one_line(author, 60), _AUTHOR)
    if not name or room < 2 * _AUTHOR:
        return fitted(words, room)
    return [*fitted(words, room - cells.width(name) - 1), Span(f" {name}", "faint")]


def _turn(row: TranscriptRow, fate: Fate | None) -> list[Span]:
    style = "faint" if fate is not None and fate.out else "cat-user bold"
    return [figure(row.turn, style, 3)] if len(row.turn) > 2 else [figure(row.turn, style, 2), Span(" ")]


def _struck(words: Spans, fate: Fate) -> list[Span]:
    style = "faint strike" if kind_of(fate.kind).stands_for or fate.repair else "dim strike"
    return [Span(span.text, style) for span in words]


def _figures(row: TranscriptRow, fate: Fate | None, grid: Grid) -> tuple[str, Span, list[Span]]:
    """What the block had, what it will have, and the bar of both."""
    if fate is None:
        bar = bars.line(row.weight, BAR_STEP * grid.bar, grid.bar, tiny="")
        return "", row.tokens, [Span(bar.ljust(grid.bar), row.style)]
    if row.tokens.text == numbers.NONE:
        return "", row.tokens, [Span(" " * grid.bar)]
    drawn = bars.staged(
        fate.after or 0, max(0, fate.tokens - (fate.after or 0)), BAR_STEP * grid.bar, grid.bar, row.style
    )
    room = grid.bar - sum(len(span.text) for span in drawn)
    bar_spans = [*drawn, Span(" " * max(0, room))]
    if fate.out:
        style = "faint" if fate.repair or not fate.tokens else "crit"
        return "", Span(numbers.signed(-fate.tokens) if fate.tokens else "0", style), bar_spans
    if fate.after is None:
        return f"{numbers.tokens(fate.tokens)}→", Span(numbers.NONE, "faint"), bar_spans
    style = f"{_mark(fate).style} bold" if fate.after != fate.tokens else "dim"
    return f"{numbers.tokens(fate.tokens)}→", Span(numbers.tokens(fate.after), style), bar_spans


def new_row(new: New) -> TranscriptRow:
    """The row of a block that an edit puts in."""
    sign = CATEGORY[new.category]
    mark = MARK[new.edit.does.mark]
    text = read(new.item.block).text[:2000].strip().replace("\n", " ")
    label = f"{new.edit.does.lead} " if new.edit.does.lead else ""
    words = (Span(label, f"{mark.style} bold"), *safe_text.spans(text, "ink", "warn"))
    known = new.tokens is not None
    tokens = Span(numbers.signed(new.tokens or 0) if known else numbers.NONE, "ink bold" if known else "faint")
    return TranscriptRow(
        gutter=GUTTER["write"].span,
        turn="",
        sign=sign.span,
        words=words,
        tokens=tokens,
        weight=new.tokens or 0,
        style=mark.style,
    )


def draw_new(new: New, grid: Grid, cursor: str) -> list[Span]:
    """The line of a block that an edit puts in."""
    return draw(new_row(new), grid, cursor, None, new.edit.does.mark, broken=True, author=new.edit.author)


def draw_rule(rule: RuleRow, grid: Grid, broken: int, cursor: str = " ") -> list[Span]:
    """A folded run, or the place where the prefix ends; `broken` are the cached tokens that are not read any more."""
    if rule.kind == BREAK:
        lost = f"prefix ends here · breaks {numbers.tokens(broken)} cached"
        text = f" {lost if broken else 'changed from here on, nothing cached is lost'} "
        here = cursor.strip()
        lead = [
            Span(MARK["break"].glyph, "crit"),
            Span(here or "╌", "accent" if here else "write"),
            Span("╌╌╌", "write"),
            Span(text, "write bold"),
            *([Span("⏎", "accent bold"), Span(" what that costs ", "faint")] if here else []),
        ]
        line = fitted(lead, grid.width - 1)
        fill = len(line[-1].text) if line[-1].text.isspace() else 0
        return [*line[:-1], Span("╌" * fill, "write"), Span(" ")] if fill else [*line, Span(" ")]
    rows, tokens = counts(rule)
    told = f"{rows:,} unchanged, {numbers.tokens(tokens)}" + ("  ⏎ unfolds" if cursor.strip() else "")
    return [
        Span(" "),
        Span(cursor, "accent"),
        Span("     "),
        Span(MARK["folded"].glyph + " ", "faint"),
        *fitted([Span(told, "faint")], grid.width - 10),
    ]
