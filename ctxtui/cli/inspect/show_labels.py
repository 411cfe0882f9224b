"""What ``ctxtui show`` says of labels: how often each was found, and its tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ctxtui.analysis.book import Book
from ctxtui.analysis.figures import BlockFigure, CallFigures
from ctxtui.analysis.labels.figures import label_figures, segments_of
from ctxtui.cli.paint import rule, width
from ctxtui.core.call import Call
from ctxtui.views.text import bars, cells, numbers, safe_text, signs
from ctxtui.views.text.span import Span
from ctxtui.views.text.table import Column, Table

_NAME = 24


def counts(book: Book, model: str, blocks: Sequence[BlockFigure]) -> Iterator[list[Span]]:
    """One line: how often each label stands in the context, the most frequent first; none where no rule found
    anything."""
    found = sorted(label_figures(segments_of(book, model, blocks)), key=lambda one: -one.count)
    if found:
        told = ", ".join(f"{numbers.exact(one.count)} × {safe_text.one_line(one.label)}" for one in found)
        yield [Span(cells.fit(f"   labels: {told}", width() - 1), "dim")]


def table(book: Book, call: Call, got: CallFigures, blocks: Sequence[BlockFigure]) -> Iterator[list[Span]]:
    """The context by label, then what no rule found: together they are the context."""
    found = label_figures(segments_of(book, call.model, blocks))
    labelled = sum(one.tokens for one in found)
    rest = sum(got.categories.values()) - labelled
    yield from rule("labels", f"{sum(one.count for one in found):,} found")
    rows = [
        LabelRow(signs.category(one.category).span, safe_text.one_line(one.label), one.count, one.tokens)
        for one in found
    ]
    for name, tokens in (("no label", rest), ("not recorded", got.not_recorded or 0), ("re-attached", got.attached)):
        rows += [LabelRow(Span(" ", "dim"), name, None, tokens)] if tokens else []
    drawn = _label_table(got.context_tokens, max([rest, got.not_recorded or 0, *(one.tokens for one in found), 1]))
    for row in rows:
        yield drawn.draw(row, 0)
    if got.residual:
        yield [
            Span(f"   {cells.left('residual', _NAME)}       ", "dim"),
            Span(cells.right(numbers.signed(got.residual), 9)),
        ]


class LabelRow(NamedTuple):
    """A label: its category's sign, its name, how often it was found (None: it is none), the tokens."""

    sign: Span
    name: str
    found: int | None
    tokens: int


def _label_table(total: int, top: int) -> Table[LabelRow]:
    def share(row: LabelRow, room: int) -> Span:
        return Span(numbers.share(row.tokens / total) if total else "", "dim")

    return Table(
        (
            Column("", 1, lambda row, _: row.sign, gap=1),
            Column("", _NAME, lambda row, _: Span(row.name, row.sign.style), "left", gap=1),
            Column("", 7, lambda row, _: Span(numbers.exact(row.found) if row.found is not None else "")),
            Column("", 9, lambda row, _: Span(numbers.tokens(row.tokens))),
            Column("", 9, share),
            Column(
                "",
                max(8, width() - _NAME - 31),
                lambda row, room: Span(bars.line(row.tokens, top, room), row.sign.style),
                "left",
                gap=2,
            ),
        ),
        mark=0,
        tail=0,
    )
