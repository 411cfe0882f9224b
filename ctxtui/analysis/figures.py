"""Figures of a call: composition, not recorded, residual.

Every figure is a whole number of tokens and everything adds up: the blocks of a category to its figure; blocks,
unrecorded input and residual to the call's context tokens.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.analysis.book import Book
from ctxtui.analysis.labels.labelling import searched_text
from ctxtui.analysis.read.absence import Absence
from ctxtui.analysis.read.searches import describe_additions
from ctxtui.core import block as blocks
from ctxtui.core.block import HEADER, Block
from ctxtui.core.block_content import read
from ctxtui.core.call import FRONT_RECORDED, Call, Fidelity, answer_path
from ctxtui.core.category import CATEGORIES
from ctxtui.core.tree import ROOT, Tree
from ctxtui.core.turns import is_read
from ctxtui.core.usage import Usage


class CallFigures(Struct, frozen=True, kw_only=True):
    """Size of a call's context, in tokens.

    - `context_tokens`: the size of the whole context; `lo` to `hi` is its 90 % interval. A sum of calls has none (0).
    - `method`: ``reported`` by the provider; ``exact``: the sum of blocks that are all counted exactly; else an
      estimate: ``calibrated`` if enough reports were learned, or ``guessed``.
    - `categories`: tokens of each non-empty category, in prompt order.
    - `not_recorded`: input that the recording lacks; None if there is none, or if it cannot be inferred yet.
    - `attached`: input that the client attached again after a compaction.
    - `residual`: the context tokens minus the three above.
    - `counted`: False while blocks are not counted, or absent ones not determined; then `context_tokens` is the
      reported input (0 without a report), and the other figures are empty.
    """

    context_tokens: int
    method: str
    lo: int
    hi: int
    categories: dict[str, int]
    not_recorded: int | None
    residual: int
    reported: Usage | None
    counted: bool
    attached: int = 0


def uncounted_figures(call: Call) -> CallFigures:
    """Figures of a call while they are not `CallFigures.counted`."""
    total = call.usage.input if call.usage and not call.is_sum else 0
    return CallFigures(
        context_tokens=total,
        method="reported" if call.usage else "guessed",
        lo=total,
        hi=total,
        categories={},
        not_recorded=None,
        residual=0,
        reported=call.usage,
        counted=False,
    )


NOT_RECORDED: Final = "not_recorded"
ATTACHED: Final = "reattached"
REATTACHED_TEXT: Final = "files that the client attached again after the compaction, not in the recording"


class BlockFigure(Struct, frozen=True, kw_only=True):
    """One block of a context.

    - `node`: `ROOT` if the block is not recorded.
    - `lo` to `hi` is the 90 % interval of `tokens`.
    - `method`: ``exact``, ``calibrated`` or ``guessed``; ``reported`` for reasoning; ``inferred`` for input that is
      not recorded and for the replacement of an absent block.
    - `read`: False if the model does not read the block, whose tokens are then in no sum.
    - `gone`: set if the reports show that the block is absent. `tokens` is then the size of its replacement, if there
      is one.
    """

    node: int
    block: Block
    category: str
    role: str
    tokens: int
    method: str
    lo: int
    hi: int
    read: bool = True
    gone: Absence | None = None


def figures(book: Book, call: Call) -> CallFigures:
    """The size of the context of `call` and its parts."""
    head = call.sent_head
    if not book.is_counted(call.model, head):
        return uncounted_figures(call)
    by_category = book.read_sums(call.model, head, book.contexts.absences_at(head))
    visible = sum(by_category)
    not_recorded, reattached = not_recorded_tokens(book, call), reattached_tokens(book, call)
    counted_tokens = visible + (not_recorded or 0) + reattached
    named = {name: n for name, n in zip(CATEGORIES, by_category, strict=True) if n}
    total, method, lo, hi = _total_tokens(book, call, visible, (not_recorded or 0) + reattached)
    if book.contexts.is_unexplained(call, total - counted_tokens):
        # The absent blocks are not determined yet: until then the parts would exceed the reported total.
        return uncounted_figures(call)
    return CallFigures(
        context_tokens=total,
        method=method,
        lo=lo,
        hi=hi,
        categories=named,
        not_recorded=not_recorded,
        residual=total - counted_tokens,
        reported=call.usage,
        counted=True,
        attached=reattached,
    )


def next_figures(book: Book, call: Call, head: int) -> CallFigures:
    """Figures of the request after `call` with the context `head`, without edits.

    If `head` is the call's own context, the result equals `figures`. Not counted if one of the two contexts is not.
    """
    call_figures = figures(book, call)
    if head == call.sent_head or not call_figures.counted or not book.is_counted(call.model, head):
        return call_figures if head == call.sent_head else uncounted_figures(replace(call, usage=None))
    sums = [book.read_sums(call.model, node, book.contexts.absences_at(node)) for node in (call.raw_head, head)]
    grown = {name: after - before for name, before, after in zip(CATEGORIES, *sums, strict=True)}
    tree, sent_node = book.session.tree, head
    if call.is_edited:
        # The edited context continues with the blocks added since, if a request was made from it.
        sent_node = (
            tree.find(call.sent_head, tree.items(head, call.raw_head)) if tree.holds(head, call.raw_head) else ROOT
        )
    next_call = replace(call, id="", raw_head=sent_node, sent_head=sent_node, response_head=sent_node, usage=None)
    has_forecast = call.usage is not None and sent_node != ROOT and book.is_counted(call.model, sent_node)
    forecast = book.forecast(next_call) if has_forecast else None
    if forecast is not None and forecast.step.base.id == call.id:
        total, lo, hi = forecast.predicted, forecast.lo, forecast.hi
    else:
        total, lo, hi = (
            max(0, n + sum(grown.values())) for n in (call_figures.context_tokens, call_figures.lo, call_figures.hi)
        )
    named = {name: n for name in CATEGORIES if (n := call_figures.categories.get(name, 0) + grown[name])}
    counted_tokens = sum(named.values()) + (call_figures.not_recorded or 0) + call_figures.attached
    return CallFigures(
        context_tokens=total,
        method=estimate_method(book, call.model),
        lo=lo,
        hi=hi,
        categories=named,
        not_recorded=call_figures.not_recorded,
        residual=total - counted_tokens,
        reported=None,
        counted=True,
        attached=call_figures.attached,
    )


class AnswerSize(Struct, frozen=True):
    """Size of a recorded answer; `code`: characters of fenced code."""

    characters: int
    code: int
    tokens: int


_CODE_FENCE: Final = re.compile(r"^[ \t]*(```+)[^\n`]*\n(.*?)(?:\n?^[ \t]*\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
"""Fenced code in Markdown: the fence, and the code up to the same fence or the end of the text."""


def answer_size(book: Book, call: Call) -> AnswerSize | None:
    """Recorded size of the answer of `call`; None if it is not recorded or not counted yet."""
    tree = book.session.tree
    nodes = [node for node in answer_path(tree, call) if tree[node].block.kind != HEADER]
    if not nodes or not book.is_counted(call.model, call.response_head):
        return None
    texts = [searched_text(read(tree[node].block)) for node in nodes]
    code = sum(len(fence[2].removesuffix("\n")) for text in texts for fence in _CODE_FENCE.finditer(text))
    return AnswerSize(sum(map(len, texts)), code, sum(book.block_tokens(call.model, node) for node in nodes))


def context_size(book: Book, call: Call) -> int | None:
    """Context tokens of `call`; None while unknown, and for sums."""
    if call.is_sum:
        return None
    if call.usage is not None:
        return call.usage.input
    call_figures = figures(book, call)
    return call_figures.context_tokens if call_figures.counted else None


def _total_tokens(book: Book, call: Call, visible: int, unrecorded: int) -> tuple[int, str, int, int]:
    if call.is_sum:
        return 0, "exact", 0, 0
    if call.usage is not None:
        return call.usage.input, "reported", call.usage.input, call.usage.input
    estimate = estimate_method(book, call.model)
    share = book.whole_slack(call.model, call.sent_head)
    slack = 0 if share is None else round(visible * share)
    recorded = call.estimated_input
    if recorded is not None:
        return recorded, estimate, max(0, recorded - slack), recorded + slack
    before = book.session.thread_calls(call.thread)[-1:] if not call.id else []
    if before and book.session.tree.holds(call.sent_head, before[0].response_head or call.sent_head):
        next_size = next_figures(book, before[0], call.sent_head)
        return next_size.context_tokens, next_size.method, next_size.lo, next_size.hi
    forecast = book.forecast(call)
    if forecast is not None:
        return forecast.predicted, estimate, forecast.lo, forecast.hi
    counted_tokens = visible + unrecorded
    method = "exact" if share is None and not unrecorded else estimate
    return counted_tokens, method, max(0, counted_tokens - slack), counted_tokens + slack


def estimate_method(book: Book, model: str) -> str:
    return "calibrated" if book.weights(model).calibrated else "guessed"


def not_recorded_tokens(book: Book, call: Call) -> int | None:
    """Tokens that the provider read but the recording lacks, without those attached again.

    None: none known.
    """
    read = book.contexts.read_of(call)
    if call.fidelity != Fidelity.TRANSCRIPT:
        return (read.brought or None) if read is not None and read.reported else None
    if read is not None and read.reported:
        return (read.front or 0) + read.brought or None
    return _unrecorded_front(book, call)


def reattached_tokens(book: Book, call: Call) -> int:
    read = book.contexts.read_of(call)
    return read.attached if read is not None and read.reported and call.fidelity == Fidelity.TRANSCRIPT else 0


def unrecorded_tokens(book: Book, call: Call) -> int:
    return (not_recorded_tokens(book, call) or 0) + reattached_tokens(book, call)


def _unrecorded_front(book: Book, call: Call) -> int | None:
    if call.extra.get(FRONT_RECORDED):
        return None
    first = book.first_report(call.thread, call.epoch.number) or call
    first_input = first.usage.input if first.usage is not None else first.estimated_input
    if first_input is None or not book.is_counted(first.model, first.sent_head):
        return None
    return max(0, first_input - sum(_read_tokens(book, first))) or None


def _read_tokens(book: Book, call: Call) -> tuple[int, ...]:
    return book.read_sums(call.model, call.sent_head, book.contexts.absences_at(call.sent_head))


def block_figures(book: Book, call: Call) -> Iterator[BlockFigure]:
    """Yield the unrecorded input and every block of `call`'s context.

    A header counts with the next block. Raises `IndexError` while a block is not counted.
    """
    not_recorded, reattached = not_recorded_tokens(book, call), reattached_tokens(book, call)
    if not_recorded:
        yield missing_block(book, call, not_recorded)
    if reattached:
        yield _inferred_block(book, call, reattached, ATTACHED, REATTACHED_TEXT)
    tree = book.session.tree
    for node in tree.path(call.sent_head):
        if tree[node].block.kind != HEADER:
            yield block_figure(book, call, node)


def missing_block(book: Book, call: Call, tokens: int) -> BlockFigure:
    name = name_missing(book, call, figures(book, call).categories)
    return _inferred_block(book, call, tokens, NOT_RECORDED, f"{name}, not in the recording")


def name_missing(book: Book, call: Call, categories: Container[str]) -> str:
    """Name what the recording of a context with these `categories` lacks."""
    if call.fidelity != Fidelity.TRANSCRIPT:
        return describe_additions(book.searches, book.session.tree, call) or "what the provider adds"
    parts = [name for category, name in (("system", "system prompt"), ("tools", "tools")) if category not in categories]
    parts += ["search results"] if book.searches.any_until(call) else []
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:]))) or "what the client adds"


def _inferred_block(book: Book, call: Call, tokens: int, category: str, description: str) -> BlockFigure:
    first = book.first_report(call.thread, call.epoch.number) or call
    slack = round(sum(_read_tokens(book, first)) * (book.whole_slack(first.model, first.sent_head) or 0.0))
    block = blocks.make(NOT_RECORDED, {"type": NOT_RECORDED, "what": description, "epoch": call.epoch.number})
    return BlockFigure(
        node=ROOT,
        block=block,
        category=category,
        role="",
        tokens=tokens,
        method="inferred",
        lo=max(0, tokens - slack),
        hi=tokens + slack,
    )


def block_figure(book: Book, call: Call, node: int) -> BlockFigure:
    """Figure of one block on the path of `call`. Raises `IndexError` while it is not counted."""
    tree: Tree = book.session.tree
    node_row = tree[node]
    tokens = book.block_tokens(call.model, node)
    half = book.slack(call.model, node)
    slack = 0 if not half or not tokens else max(1, round(half))
    counted = "exact" if half is None else estimate_method(book, call.model)
    read = is_read(tree, call.sent_head, node, strips_thinking=book.card(call.model).strips_thinking)
    absence = book.contexts.absences_at(call.sent_head).get(node) if read else None
    if absence is not None and absence.left:
        counted, tokens, slack = "inferred", min(absence.left, tokens), 0
    return BlockFigure(
        node=node,
        block=node_row.block,
        category=CATEGORIES[book.category(call.model, node)],
        role=node_row.place.role,
        tokens=tokens,
        method="reported" if book.is_reported(node) and absence is None else counted,
        lo=max(min(0, tokens), tokens - slack),
        hi=tokens + slack,
        read=read and (absence is None or absence.left > 0),
        gone=absence,
    )


class GrowthPoint(Struct, frozen=True):
    """Size of one call's context; `call` is its number in the thread, from 1."""

    call: int
    context_tokens: int
    reported_input: int | None


def growth_points(book: Book, thread: str) -> list[GrowthPoint]:
    return [
        GrowthPoint(number, figures(book, call).context_tokens, call.usage.input if call.usage else None)
        for number, call in enumerate(book.session.thread_calls(thread), 1)
    ]
