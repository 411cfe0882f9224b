"""`ctxtui show` for people: head, composition, heaviest blocks (or all), growth, what was skipped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from ctxtui.analysis.book import Book
from ctxtui.analysis.call_choice import ChosenCall
from ctxtui.analysis.context_window import context_window
from ctxtui.analysis.figures import (
    AGAIN,
    ATTACHED,
    NOT_RECORDED,
    WHAT,
    BlockFigure,
    CallFigures,
    block_figures,
    figures,
    growth,
)
from ctxtui.analysis.labels.labelling import words as read_words
from ctxtui.analysis.residual import residual
from ctxtui.analysis.session_events import sentence, told
from ctxtui.analysis.short_names import short_model
from ctxtui.cli.inspect import show_labels
from ctxtui.cli.paint import Painter, rule, width
from ctxtui.core.block_content import read
from ctxtui.core.turns import Turns, turns_of
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.accounts import priced
from ctxtui.services.counting.pricing import totals_of
from ctxtui.services.recordings.recording import Loaded
from ctxtui.views.blocks import one_line
from ctxtui.views.inspector.strip_columns import StripColumn, bucketed
from ctxtui.views.inspector.strip_columns import rows as strip_rows
from ctxtui.views.lists.costs.bill import spent_words
from ctxtui.views.model.block_cache import preview_of
from ctxtui.views.text import bars, cells, numbers, safe_text, signs
from ctxtui.views.text.span import Span
from ctxtui.views.text.table import Column, Table

HEAVIEST = 12
_UNSEEN = {
    NOT_RECORDED: "system prompt and tools: not in the recording",
    ATTACHED: "attached again after the compaction: not in the recording",
}
_SKIPPED = 8


def print_text(
    book: Book, chosen: ChosenCall, loaded: Loaded, settings: Settings, *, every_block: bool, by_label: bool = False
) -> None:
    """Print the call; everything in `book` must be counted. `by_label` adds its tokens up by label, not by category."""
    painter = Painter(settings.glyphs)
    got = figures(book, chosen.call)
    blocks = list(block_figures(book, chosen.call))
    for lines in (
        _head(book, chosen, loaded, settings),
        _total(book, chosen, got, settings),
        show_labels.table(book, chosen.call, got, blocks) if by_label else _composition(book, chosen, got),
        () if by_label else show_labels.counts(book, chosen.call.model, blocks),
        _blocks(book, chosen, blocks, every_block),
        _growth(book, chosen),
        _skipped(loaded),
    ):
        for line in lines:
            painter.line(line)


def _sentence(book: Book, chosen: ChosenCall, settings: Settings) -> str:
    """What is most to be said of the thread, whose last call is asked for; of an earlier one its own miss, or ""."""
    found = priced(book.session, book, settings).misses()
    if chosen.number == len(book.session.thread_calls(chosen.thread)):
        return sentence(book.session, chosen.thread, found.found)
    own = next((one for one in found.of(chosen.thread) if one.number == chosen.number), None)
    return told(own) if own is not None else ""


def _head(book: Book, chosen: ChosenCall, loaded: Loaded, settings: Settings) -> Iterator[list[Span]]:
    session = book.session
    calls = len(session.thread_calls(chosen.thread))
    where = f"call {chosen.number} of {calls}" if chosen.number else "not sent yet"
    thread = "" if chosen.thread == "main" else f" · {safe_text.one_line(chosen.thread)}"
    title = safe_text.one_line(session.about.title or loaded.name)
    model = short_model(chosen.call.model or session.model)
    facts = " · ".join(filter(None, (loaded.source, safe_text.one_line(model), where + thread, chosen.call.fidelity)))
    room = width()
    yield [Span(cells.fit(title, room), "bold")]
    yield [Span(cells.fit(facts, room), "dim")]
    if chosen.number:
        if words := _sentence(book, chosen, settings):
            yield [Span(cells.fit(safe_text.one_line(words), room), "ink")]
        yield [Span(cells.fit(spent_words(totals_of(session, settings)), room), "dim")]
        if copied := sum(call.is_copy for call in session.calls.values()):
            words = f"{numbers.many(copied, 'call')} of it ctxtui copied from another session, where they were paid"
            yield [Span(cells.fit(words, room), "dim")]
    yield []


def _total(book: Book, chosen: ChosenCall, got: CallFigures, settings: Settings) -> Iterator[list[Span]]:
    spread = numbers.interval(got.context_tokens, got.lo, got.hi)
    line = [Span(numbers.exact(got.context_tokens), "bold"), Span(f" tokens {got.method} {spread}".rstrip(), "dim")]
    window = context_window(book, chosen.call, settings.usable_share)
    if (share := window.share(got.context_tokens)) is not None:
        level = bars.budget_style(got.context_tokens, window.usable)
        line += [Span("  "), *bars.budget(got.context_tokens, window.usable, window.limit, 24)]
        line += [Span(f" {numbers.share(share, 0)}", level), Span(f" of {numbers.tokens(window.usable)} usable", "dim")]
    yield line
    if window.limit:
        yield [Span("limit ", "dim"), *bars.limit_words(window)]
    usage = got.reported
    if usage:
        parts = [("read", usage.cache_read), ("write", usage.cache_write), ("fresh", usage.fresh)]
        told = [Span(f"{name} {numbers.tokens(n)}   ", name) for name, n in parts] if usage.has_cache else []
        call = chosen.call
        yield [*told, Span(f"answer {numbers.least_tokens(call.output, call.answered_in_part)}", "dim")]


def _composition(book: Book, chosen: ChosenCall, got: CallFigures) -> Iterator[list[Span]]:
    yield from rule("context")
    unseen = ((NOT_RECORDED, got.not_recorded), (ATTACHED, got.attached))
    rows = [*got.categories.items(), *((name, tokens) for name, tokens in unseen if tokens)]
    table = _category_table(got)
    for row in rows:
        yield table.draw(row, 0)
    if got.residual:
        yield [Span("   residual      ", "dim"), Span(cells.right(numbers.signed(got.residual), 8), "dim")]
    left = residual(book, chosen.call)
    if left is not None:
        for line in safe_text.wrap(left.says(chosen.number), width() - 4):
            yield [Span(f"   {line}", "faint")]


def _category_table(got: CallFigures) -> Table[tuple[str, int]]:
    top = max([*got.categories.values(), got.not_recorded or 0, got.attached, 1])

    def figure(row: tuple[str, int], room: int) -> Span:
        return Span(numbers.guessed(row[1]) if row[0] in (NOT_RECORDED, ATTACHED) else numbers.tokens(row[1]))

    def share(row: tuple[str, int], room: int) -> Span:
        return Span(numbers.share(row[1] / got.context_tokens) if got.context_tokens else "", "dim")

    def bar(row: tuple[str, int], room: int) -> Span:
        return Span(bars.line(row[1], top, room), signs.category(row[0]).style)

    return Table(
        (
            Column("", 1, lambda row, _: signs.category(row[0]).span, gap=1),
            Column(
                "", 14, lambda row, _: Span(signs.category(row[0]).name, signs.category(row[0]).style), "left", gap=1
            ),
            Column("", 8, figure),
            Column("", 9, share),
            Column("", max(10, width() - 45), bar, "left", gap=2),
        ),
        mark=0,
        tail=0,
    )


def _blocks(book: Book, chosen: ChosenCall, blocks: list[BlockFigure], every: bool) -> Iterator[list[Span]]:
    if not blocks:
        return
    shown = blocks if every else sorted(blocks, key=lambda b: -b.tokens * b.read)[:HEAVIEST]
    title = "blocks" if every else "heaviest blocks"
    left_out = f"{len(shown)} of {len(blocks)}, --blocks prints all" if len(shown) < len(blocks) else ""
    yield from rule(title, "tokens, characters and tokens so far" if every else left_out)
    so_far = dict(zip(map(id, blocks), _so_far(blocks), strict=True)) if every else {}
    table = _block_table(book, turns_of(book.session.tree, book.session.thread_calls(chosen.thread)), so_far)
    for figure in shown:
        yield table.draw(figure, width())


def _so_far(blocks: list[BlockFigure]) -> Iterator[tuple[int, int]]:
    """Characters and tokens up to the end of each block."""
    chars = tokens = 0
    for figure in blocks:
        chars += len(read_words(read(figure.block)))
        tokens += figure.tokens if figure.read else 0
        yield chars, tokens


def _block_table(book: Book, turns: Turns, so_far: Mapping[int, tuple[int, int]]) -> Table[BlockFigure]:
    """The table of blocks; `so_far` gives characters and tokens up to the end of each, by its identity."""

    def turn(figure: BlockFigure, room: int) -> Span:
        node = book.session.tree[figure.node]
        return Span(str(turns.of(node.id)) if node.opens_turn and figure.node else "", "dim")

    def words(figure: BlockFigure, room: int) -> list[Span]:
        if not figure.node:
            told = read(figure.block).text
            return [Span(_UNSEEN[figure.category] if told in (WHAT, AGAIN) else told, "ink")]
        says = preview_of(book, figure.node)
        if figure.gone is None and figure.read:
            return one_line.words(says, signs.category(figure.category).style)
        gone = f"gone since call {figure.gone.since} (inferred): {figure.gone.says} · " if figure.gone else ""
        return [Span(gone, "faint"), *one_line.words(says, "faint", "faint")]

    def running(which: int) -> Callable[[BlockFigure, int], Span]:
        return lambda figure, _: Span(numbers.tokens(so_far[id(figure)][which]), "dim")

    return Table(
        (
            Column("", 4, turn),
            Column("", 1, lambda figure, _: signs.category(figure.category).span, gap=1),
            Column("", 0, words, "left", gap=1),
            Column("", 9, _tokens),
            *((Column("", 9, running(0)), Column("", 9, running(1))) if so_far else ()),
        ),
        mark=0,
        tail=2,
    )


def _tokens(figure: BlockFigure, room: int) -> Span:
    weight = "bold" if figure.tokens >= 1000 else "dim" if figure.tokens < 100 else "ink"
    tokens = numbers.tokens(figure.tokens) if figure.read else numbers.unread(figure.tokens)
    return Span(numbers.guessed(figure.tokens) if figure.method == "inferred" else tokens, weight)


def _growth(book: Book, chosen: ChosenCall) -> Iterator[list[Span]]:
    points = growth(book, chosen.thread)
    if len(points) < 2:
        return
    calls = book.session.thread_calls(chosen.thread)
    columns = [
        StripColumn(u.cache_read, u.cache_write, u.fresh)
        if (u := call.usage)
        else StripColumn(0, 0, point.context_tokens)
        for call, point in zip(calls, points, strict=True)
    ]
    peak = max(columns, key=lambda c: c.total)
    yield from rule("calls", f"{len(points)} calls, peak {numbers.tokens(peak.total)}")
    room = width() - 2
    for row in strip_rows(bucketed(columns, room), 4, peak.total or 1, per=2 if len(columns) * 2 <= room else 1):
        yield [Span(" "), *(Span(text, style.split(" on-")[0]) for text, style in row)]


def _skipped(loaded: Loaded) -> Iterator[list[Span]]:
    skipped = loaded.skipped
    if not skipped:
        return
    yield from rule("skipped", f"{len(skipped)} of the recording's lines")
    for one in skipped[:_SKIPPED]:
        yield [Span(" ▲ ", "warn"), Span(f"line {one.line}: {safe_text.one_line(one.reason)}")]
    if len(skipped) > _SKIPPED:
        yield [Span(f"   and {len(skipped) - _SKIPPED} more; --json lists all", "dim")]
