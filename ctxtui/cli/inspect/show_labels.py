"""What ``ctxtui show`` says of labels: how often each was found, and its tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ctxtui.analysis.book import Book
from ctxtui.analysis.figures import BlockFigure, CallFigures
from ctxtui.analysis.labels.figures import label_figures, segments_of
from ctxtui.cli.paint import rule, width
from ctxtui.core.call import Call
from ctxtui.views.text import bars, cells, numbers, safe_text, signs
from ctxtui.views.text.span import Span

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
    yield rule("labels", f"{sum(one.count for one in found):,} found")
    top = max([rest, got.not_recorded or 0, *(one.tokens for one in found), 1])
    room = max(8, width() - _NAME - 31)
    for one in found:
        sign = signs.category(one.category)
        yield [
            Span(f" {sign.glyph} ", sign.style),
            Span(cells.left(safe_text.one_line(one.label), _NAME), sign.style),
            Span(cells.right(numbers.exact(one.count), 7)),
            *_figures(one.tokens, got.context_tokens, top, room, sign.style),
        ]
    for name, tokens in (("no label", rest), ("not recorded", got.not_recorded or 0)):
        if tokens:
            yield [
                Span(f"   {cells.left(name, _NAME)}       ", "dim"),
                *_figures(tokens, got.context_tokens, top, room, "dim"),
            ]
    if got.residual:
        yield [
            Span(f"   {cells.left('residual', _NAME)}       ", "dim"),
            Span(cells.right(numbers.signed(got.residual), 9)),
        ]


def _figures(tokens: int, total: int, top: int, room: int, style: str) -> list[Span]:
    share = numbers.share(tokens / total) if total else ""
    return [
        Span(cells.right(numbers.tokens(tokens), 9)),
        Span(cells.right(share, 9) + "  ", "dim"),
        Span(bars.line(tokens, top, room), style),
    ]
