"""`ctxtui show`: the contents of one call's context, as text or JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import click

from ctxtui.analysis.book import Book
from ctxtui.analysis.call_choice import ChosenCall, choose_call, unsent_call
from ctxtui.analysis.context_window import context_window
from ctxtui.analysis.figures import (
    ATTACHED,
    NOT_RECORDED,
    BlockFigure,
    CallFigures,
    answer_size,
    block_figures,
    figures,
    growth_points,
)
from ctxtui.analysis.labels.figures import label_figures, segments_of
from ctxtui.analysis.residual import explain_residual
from ctxtui.analysis.session_events import describe_miss, summarize_thread
from ctxtui.cli.context import (
    CALL_OPTION,
    JSON_OPTION,
    NAME_HELP,
    THREAD_OPTION,
    SessionName,
    config_of,
    open_recording,
)
from ctxtui.cli.inspect import show_json
from ctxtui.cli.inspect.lists import ListInputs, lists_json, print_lists
from ctxtui.cli.inspect.notes import context_notes, notes_of
from ctxtui.cli.output import write_json
from ctxtui.cli.paint import Painter, rule, width
from ctxtui.cli.progress import counting
from ctxtui.core.block_content import read
from ctxtui.core.call import Call
from ctxtui.core.model_names import short_model
from ctxtui.core.turns import Turns, turns_of
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.accounts import priced_account
from ctxtui.services.counting.books import book_for
from ctxtui.services.counting.counting import count_all
from ctxtui.services.counting.pricing import total_session
from ctxtui.services.recordings.recording import Loaded
from ctxtui.tokens.estimators import ESTIMATORS
from ctxtui.views.blocks import one_line
from ctxtui.views.inspector.strip_columns import StripColumn, bucket_columns
from ctxtui.views.inspector.strip_columns import rows as strip_rows
from ctxtui.views.lists.costs.bill import describe_spending
from ctxtui.views.model.block_cache import preview_of
from ctxtui.views.text import bars, cells, numbers, safe_text, signs
from ctxtui.views.text.span import Span
from ctxtui.views.text.table import Column, Table


@click.command(
    "show",
    help=f"Print what one call's context holds: tokens by category, blocks, and the residual.\n\n"
    f"NAME is {NAME_HELP}.\n\n\b\nExample: ctxtui show session.jsonl --call 12 --json | jq .residual\n"
    "Example: ctxtui show last --heaviest",
)
@click.argument("name", metavar="NAME", type=SessionName())
@CALL_OPTION
@THREAD_OPTION
@click.option("--after", is_flag=True, help="Show the next request, with the blocks after the last call.")
@click.option("--blocks", is_flag=True, help="Print every block in prompt order, not only the heaviest.")
@click.option(
    "--by", type=click.Choice(("category", "label")), default="category", help="Group tokens by category or by label."
)
@click.option("--threads", is_flag=True, help="List the threads: calls, peaks, costs.")
@click.option("--tools", is_flag=True, help="List the tools by server: tokens, loaded or deferred, calls.")
@click.option(
    "--heaviest", is_flag=True, help="List blocks by carry (tokens x calls they stayed), and if caching them pays."
)
@click.option("--repeats", is_flag=True, help="List duplicate content, with the tokens that could go.")
@click.option(
    "--phases", is_flag=True, help="List phases: by your notes 'phase: ...', the setting `phases`, or by turn."
)
@click.option(
    "--phase-rule",
    metavar="RULE",
    help="Start phases at each turn, epoch or call, or where this matches: 'Generation \\d+'.",
)
@click.option(
    "--estimator", type=click.Choice(tuple(ESTIMATORS)), help="Count tokens by a simple rule, for comparison."
)
@JSON_OPTION
@click.pass_context
def show(
    context: click.Context,
    /,
    name: str,
    number: int | None,
    thread: str,
    after: bool,
    blocks: bool,
    by: str,
    estimator: str | None,
    as_json: bool,
    phase_rule: str | None,
    **lists: bool,
) -> None:
    if after and number is not None:
        raise click.UsageError("--after shows what follows the last call: leave out --call", context)
    config = config_of(context)
    loaded = open_recording(name, config.settings)
    chosen = choose_call(loaded.session, thread, number or 0, after=after)
    with counting(config.settings) as counter:
        book = book_for(loaded.session, counter, config.settings, estimator or "")
        count_all(book, counter)
    list_names = {name for name, is_requested in lists.items() if is_requested} | ({"phases"} if phase_rule else set())
    inputs = ListInputs(book, chosen, loaded, config.settings, phase_rule or config.settings.phases)
    if as_json:
        fields = show_json.as_json(book, chosen, loaded.skipped, loaded.name, loaded.source, config.settings)
        fields["notes"] = _notes_to_json(chosen, loaded, config.settings)
        write_json({**fields, **lists_json(inputs, list_names)})
    elif list_names:
        print_lists(inputs, list_names)
    else:
        print_text(book, chosen, loaded, config.settings, every_block=blocks, by_label=by == "label")


def _notes_to_json(chosen: ChosenCall, loaded: Loaded, settings: Settings) -> list[dict[str, Any]]:
    call = chosen.call
    return context_notes(notes_of(loaded, settings), loaded.session.tree, call.response_head or call.sent_head, call.id)


MAX_HEAVIEST = 12
MAX_SKIPPED_LINES = 8


def print_text(
    book: Book, chosen: ChosenCall, loaded: Loaded, settings: Settings, *, every_block: bool, by_label: bool = False
) -> None:
    """Print the call; everything in `book` must be counted.

    `every_block`: list all blocks in prompt order, not only the heaviest; `by_label`: group tokens by label.
    """
    painter = Painter(settings.glyphs)
    call_figures = figures(book, chosen.call)
    blocks = list(block_figures(book, chosen.call))
    for lines in (
        _head_lines(book, chosen, loaded, settings),
        _total_lines(book, chosen, call_figures, settings),
        label_table(book, chosen.call, call_figures, blocks)
        if by_label
        else _composition_lines(book, chosen, call_figures),
        () if by_label else label_counts(book, chosen.call.model, blocks),
        _block_lines(book, chosen, blocks, every_block),
        _growth_lines(book, chosen),
        _skipped_lines(loaded),
    ):
        painter.lines(lines)


def _summarize(book: Book, chosen: ChosenCall, settings: Settings) -> str:
    """The most important fact about the thread for its last call.

    For an earlier call its miss, or "".
    """
    misses = priced_account(book.session, book, settings).misses()
    if chosen.number == len(book.session.thread_calls(chosen.thread)):
        return summarize_thread(book.session, chosen.thread, misses.misses)
    miss = next((candidate for candidate in misses.of_thread(chosen.thread) if candidate.number == chosen.number), None)
    return describe_miss(miss) if miss is not None else ""


def _head_lines(book: Book, chosen: ChosenCall, loaded: Loaded, settings: Settings) -> Iterator[list[Span]]:
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
        if words := _summarize(book, chosen, settings):
            yield [Span(cells.fit(safe_text.one_line(words), room))]
        yield [Span(cells.fit(describe_spending(total_session(session, settings)), room), "dim")]
        if copied := sum(call.is_copy for call in session.calls.values()):
            words = f"{numbers.many(copied, 'call')} copied by ctxtui from another session, where they are counted"
            yield [Span(cells.fit(words, room), "dim")]
    yield []


def _total_lines(book: Book, chosen: ChosenCall, call_figures: CallFigures, settings: Settings) -> Iterator[list[Span]]:
    spread = numbers.interval(call_figures.context_tokens, call_figures.lo, call_figures.hi)
    line = [
        Span(numbers.exact(call_figures.context_tokens), "bold"),
        Span(f" tokens {call_figures.method} {spread}".rstrip(), "dim"),
    ]
    window = context_window(book, chosen.call, settings.usable_share)
    if (share := window.share(call_figures.context_tokens)) is not None:
        level = bars.budget_style(call_figures.context_tokens, window.usable)
        line += [Span("  "), *bars.budget(call_figures.context_tokens, window.usable, window.limit, 24)]
        line += [Span(f" {numbers.share(share, 0)}", level), Span(f" of {numbers.tokens(window.usable)} usable", "dim")]
    yield line
    if window.limit:
        yield [Span("limit ", "dim"), *bars.limit_words(window)]
    usage, call = call_figures.reported, chosen.call
    size = answer_size(book, call)
    code = f", {numbers.exact(size.code)} of them code" if size and size.code else ""
    recorded = f", {numbers.exact(size.characters)} characters recorded{code}" if size else ""
    if usage:
        parts = [("read", usage.cache_read), ("write", usage.cache_write), ("fresh", usage.fresh)]
        spans = [Span(f"{name} {numbers.tokens(n)}   ", name) for name, n in parts] if usage.has_cache else []
        answer = numbers.least_tokens(call.output, call.is_partial)
        yield [*spans, Span(f"answer {answer}{recorded}", "dim")]
    elif size:
        yield [Span(f"answer {numbers.tokens(size.tokens)} counted{recorded}", "dim")]
    next_call = unsent_call(book.session, chosen.thread)
    if next_call is not None and chosen.number == len(book.session.thread_calls(chosen.thread)):
        next_size = figures(book, next_call).context_tokens
        growth = f"{numbers.tokens(next_size - call_figures.context_tokens)} more since then, not sent yet: "
        yield [Span(f"{growth}{numbers.exact(next_size)} tokens in all; --after shows them")]
    kinds = Counter(happening.kind for happening in book.session.happenings if happening.thread == chosen.thread)
    if kinds:
        names = ", ".join(f"{count:,} × {safe_text.one_line(kind)}" for kind, count in kinds.most_common())
        yield [Span(cells.fit(f"recorded entries that were in no request: {names}", width()), "dim")]


def _composition_lines(book: Book, chosen: ChosenCall, call_figures: CallFigures) -> Iterator[list[Span]]:
    yield from rule("context")
    unseen = ((NOT_RECORDED, call_figures.not_recorded), (ATTACHED, call_figures.attached))
    rows = [*call_figures.categories.items(), *((name, tokens) for name, tokens in unseen if tokens)]
    table = _category_table(call_figures)
    for row in rows:
        yield table.draw(row, 0)
    if call_figures.residual:
        yield [Span("   residual      ", "dim"), Span(cells.right(numbers.signed(call_figures.residual), 8), "dim")]
    residual_info = explain_residual(book, chosen.call)
    if residual_info is not None:
        for line in safe_text.wrap(residual_info.describe(chosen.number), width() - 4):
            yield [Span(f"   {line}", "faint")]


def _category_table(call_figures: CallFigures) -> Table[tuple[str, int]]:
    top = max([*call_figures.categories.values(), call_figures.not_recorded or 0, call_figures.attached, 1])

    def figure(row: tuple[str, int], room: int) -> Span:
        return Span(numbers.guessed(row[1]) if row[0] in (NOT_RECORDED, ATTACHED) else numbers.tokens(row[1]))

    def share(row: tuple[str, int], room: int) -> Span:
        return Span(numbers.share(row[1] / call_figures.context_tokens) if call_figures.context_tokens else "", "dim")

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


def _block_lines(book: Book, chosen: ChosenCall, blocks: list[BlockFigure], every: bool) -> Iterator[list[Span]]:
    if not blocks:
        return
    shown = blocks if every else sorted(blocks, key=lambda b: -b.tokens * b.read)[:MAX_HEAVIEST]
    title = "blocks" if every else "heaviest blocks"
    left_out = f"{len(shown)} of {len(blocks)}, --blocks prints all" if len(shown) < len(blocks) else ""
    yield from rule(title, "tokens, characters and tokens so far" if every else left_out)
    so_far = dict(zip(map(id, blocks), _cumulative_sizes(blocks), strict=True)) if every else {}
    table = _block_table(book, turns_of(book.session.tree, book.session.thread_calls(chosen.thread)), so_far)
    for figure in shown:
        yield table.draw(figure, width())


def _cumulative_sizes(blocks: list[BlockFigure]) -> Iterator[tuple[int, int]]:
    chars = tokens = 0
    for figure in blocks:
        chars += len(show_json.recorded_text(figure)) if figure.read else 0
        tokens += figure.tokens if figure.read else 0
        yield chars, tokens


def _block_table(book: Book, turns: Turns, so_far: Mapping[int, tuple[int, int]]) -> Table[BlockFigure]:
    """`so_far`: cumulative characters and tokens by block identity."""

    def turn(figure: BlockFigure, room: int) -> Span:
        node = book.session.tree[figure.node]
        return Span(str(turns.number_of(node.id)) if node.opens_turn and figure.node else "", "dim")

    def content(figure: BlockFigure, room: int) -> list[Span]:
        if not figure.node:
            return [Span(read(figure.block).text)]
        block_preview = preview_of(book, figure.node)
        if figure.gone is None and figure.read:
            return one_line.preview_spans(block_preview, signs.category(figure.category).style)
        gone = f"gone since call {figure.gone.since} (inferred): {figure.gone.reason_text} · " if figure.gone else ""
        return [Span(gone, "faint"), *one_line.preview_spans(block_preview, "faint", "faint")]

    def running(which: int) -> Callable[[BlockFigure, int], Span]:
        return lambda figure, _: Span(numbers.tokens(so_far[id(figure)][which]), "dim")

    return Table(
        (
            Column("", 4, turn),
            Column("", 1, lambda figure, _: signs.category(figure.category).span, gap=1),
            Column("", 0, content, "left", gap=1),
            Column("", 9, _format_tokens),
            *((Column("", 9, running(0)), Column("", 9, running(1))) if so_far else ()),
        ),
        mark=0,
        tail=2,
    )


def _format_tokens(figure: BlockFigure, room: int) -> Span:
    weight = "bold" if figure.tokens >= 1000 else "dim" if figure.tokens < 100 else "ink"
    tokens = numbers.tokens(figure.tokens) if figure.read else numbers.unread(figure.tokens)
    return Span(numbers.guessed(figure.tokens) if figure.method == "inferred" else tokens, weight)


def _growth_lines(book: Book, chosen: ChosenCall) -> Iterator[list[Span]]:
    points = growth_points(book, chosen.thread)
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
    for row in strip_rows(bucket_columns(columns, room), 4, peak.total or 1, per=2 if len(columns) * 2 <= room else 1):
        yield [Span(" "), *(Span(text, style.split(" on-")[0]) for text, style in row)]


def _skipped_lines(loaded: Loaded) -> Iterator[list[Span]]:
    skipped = loaded.skipped
    if not skipped:
        return
    yield from rule("skipped", f"{len(skipped)} of the recording's lines")
    for line in skipped[:MAX_SKIPPED_LINES]:
        yield [Span(" ▲ ", "warn"), Span(f"line {line.line}: {safe_text.one_line(line.reason)}")]
    if len(skipped) > MAX_SKIPPED_LINES:
        yield [Span(f"   and {len(skipped) - MAX_SKIPPED_LINES} more; --json lists all", "dim")]


NAME_CELLS = 24


def label_counts(book: Book, model: str, blocks: Sequence[BlockFigure]) -> Iterator[list[Span]]:
    """One line with the count of each label, most frequent first; none without labels."""
    labels = sorted(label_figures(segments_of(book, model, blocks)), key=lambda label: -label.count)
    if labels:
        text = ", ".join(f"{numbers.exact(label.count)} × {safe_text.one_line(label.label)}" for label in labels)
        yield [Span(cells.fit(f"   labels: {text}", width() - 1), "dim")]


def label_table(
    book: Book, call: Call, call_figures: CallFigures, blocks: Sequence[BlockFigure]
) -> Iterator[list[Span]]:
    """Tokens by label, then other blocks, not recorded, re-attached, and the residual."""
    labels = label_figures(segments_of(book, call.model, blocks))
    labelled = sum(label.tokens for label in labels)
    rest = sum(call_figures.categories.values()) - labelled
    yield from rule("labels", f"{sum(label.count for label in labels):,} found")
    rows = [
        LabelRow(signs.category(label.category).span, safe_text.one_line(label.label), label.count, label.tokens)
        for label in labels
    ]
    for name, tokens in (
        ("no label", rest),
        ("not recorded", call_figures.not_recorded or 0),
        ("re-attached", call_figures.attached),
    ):
        rows += [LabelRow(Span(" ", "dim"), name, None, tokens)] if tokens else []
    table = _label_table(
        call_figures.context_tokens, max([rest, call_figures.not_recorded or 0, *(label.tokens for label in labels), 1])
    )
    for row in rows:
        yield table.draw(row, 0)
    if call_figures.residual:
        yield [
            Span(f"   {cells.left('residual', NAME_CELLS)}       ", "dim"),
            Span(cells.right(numbers.signed(call_figures.residual), 9)),
        ]


class LabelRow(NamedTuple):
    """A label; `occurrences`: None for what is no label."""

    sign: Span
    name: str
    occurrences: int | None
    tokens: int


def _label_table(total: int, top: int) -> Table[LabelRow]:
    def share(row: LabelRow, room: int) -> Span:
        return Span(numbers.share(row.tokens / total) if total else "", "dim")

    return Table(
        (
            Column("", 1, lambda row, _: row.sign, gap=1),
            Column("", NAME_CELLS, lambda row, _: Span(row.name, row.sign.style), "left", gap=1),
            Column("", 7, lambda row, _: Span(numbers.exact(row.occurrences) if row.occurrences is not None else "")),
            Column("", 9, lambda row, _: Span(numbers.tokens(row.tokens))),
            Column("", 9, share),
            Column(
                "",
                max(8, width() - NAME_CELLS - 31),
                lambda row, room: Span(bars.line(row.tokens, top, room), row.sign.style),
                "left",
                gap=2,
            ),
        ),
        mark=0,
        tail=0,
    )
