"""`ctxtui diff` for people: where the contexts part, word by word, then everything that entered, left or changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from ctxtui.analysis.content.diff import CHANGED, RESPELLED, Change, Diff, DiffSide
from ctxtui.analysis.content.normalized import words_of
from ctxtui.analysis.content.volatile import Unsteady
from ctxtui.analysis.content.word_diff import word_diff
from ctxtui.analysis.short_names import short_model
from ctxtui.cli.output import wants_colour
from ctxtui.cli.paint import Painter, rule, width
from ctxtui.services.config.settings import Settings
from ctxtui.services.recordings.recording import Loaded
from ctxtui.views.blocks.word_diff import drawn
from ctxtui.views.lists import diff as rows_of_diff
from ctxtui.views.text import cells, numbers, safe_text
from ctxtui.views.text.span import Span

_LINES = 24
"""Lines of a word diff that are printed."""
_ROWS = 40
"""Changes that are listed."""


def print_text(
    found: Diff,
    steady: Sequence[tuple[DiffSide, Sequence[Unsteady]]],
    loaded: tuple[Loaded, Loaded],
    settings: Settings,
    *,
    whole: bool,
) -> None:
    """Print the diff."""
    painter = Painter(settings.glyphs)
    for lines in (
        _heads(found, loaded),
        rows_of_diff.summary(found),
        _first(found, whole),
        _changes(found, whole),
        _steady(steady),
    ):
        for line in lines:
            painter.line(line)


def _heads(found: Diff, loaded: tuple[Loaded, Loaded]) -> Iterator[list[Span]]:
    for mark, side, one in (("−", found.a, loaded[0]), ("+", found.b, loaded[1])):
        about, call = side.book.session.about, side.chosen
        thread = "" if call.thread == "main" else f" · {safe_text.one_line(call.thread)}"
        where = f"call {call.number}" if call.number else "not sent yet"
        title = safe_text.one_line(about.title or one.name)
        right = f"  {where}{thread} · {safe_text.one_line(short_model(call.call.model))}"
        right += f"  {numbers.tokens(side.context_tokens)}"
        style = "del" if mark == "−" else "add"
        room = max(10, width() - 2 - cells.width(right))
        yield [Span(f"{mark} ", f"{style} bold"), Span(cells.left(title, room), "bold"), Span(right, "dim")]


def _first(found: Diff, whole: bool) -> Iterator[list[Span]]:
    first = found.first
    if first is None:
        return
    yield from rule("first difference", rows_of_diff.place(found, first))
    yield list(rows_of_diff.change_row(found, first, width() - 1))
    if first.kind in (CHANGED, RESPELLED):
        yield from _word_lines(found, first, whole)


def _word_lines(found: Diff, change: Change, whole: bool) -> Iterator[list[Span]]:
    assert change.before is not None and change.after is not None
    before, after = found.a.tree[change.before], found.b.tree[change.after]
    if change.kind == RESPELLED:
        texts = before.block.body.decode("utf-8", "replace"), after.block.body.decode("utf-8", "replace")
    else:
        texts = words_of(before), words_of(after)
    lines = drawn(word_diff(*texts), width() - 1, whole=whole, spelled=not wants_colour())
    yield from (list(line) for line in islice(lines, None if whole else _LINES))
    if next(lines, None) is not None:
        yield [Span("    ⋮  more changed lines; --whole prints all", "dim")]


def _changes(found: Diff, whole: bool) -> Iterator[list[Span]]:
    listed = found.changes if whole else found.changes[:_ROWS]
    if not listed:
        return
    left = len(found.changes) - len(listed)
    yield from rule("changes", f"{len(listed)} of {len(found.changes)}, --whole prints all" if left else "")
    for change in listed:
        yield list(rows_of_diff.change_row(found, change, width() - 1))
        if whole and change.kind == CHANGED and change is not found.first:
            yield from _word_lines(found, change, whole)


def _steady(steady: Sequence[tuple[DiffSide, Sequence[Unsteady]]]) -> Iterator[list[Span]]:
    rows = [(side, one) for side, some in steady for one in some]
    if not rows:
        return
    yield from rule("changing within the run", "the same place, other content")
    for side, one in rows[:_ROWS]:
        yield list(rows_of_diff.steady_row(side, one, width() - 1))
