"""Counts the tokens of a request under edits: the one source of figures for price tags."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.analysis.book import Book
from ctxtui.analysis.cache.what_if import NextRequest, Weigh
from ctxtui.analysis.figures import next_figures, unrecorded_tokens
from ctxtui.core.block import Block
from ctxtui.core.call import Call
from ctxtui.core.category import INDEX
from ctxtui.core.tree import ROOT
from ctxtui.curation.apply.applied import Applied
from ctxtui.curation.context import Context
from ctxtui.curation.price.request_count import Measure, RequestCount, body_sums
from ctxtui.tokens.cumulate import Cumulated
from ctxtui.tokens.features import Features, minus, sum_features
from ctxtui.tokens.weights import Weights, weigh
from ctxtui.wire.grammar import ANTHROPIC
from ctxtui.wire.translate.anthropic import is_signed


def count_request(book: Book, call: Call, applied: Applied, measure: Measure | None = None) -> RequestCount:
    """Count the request after `call` (or in its place) under `applied`, by session weights.

    Unrecorded tokens and the residual are those of `call`. Raises `IndexError` while the context is not counted.
    """
    terms = counting_terms(book, call, applied.context)
    return count_under(terms, applied, measure or book.measure(call.model or book.session.model))


class CountingTerms(Struct, frozen=True, kw_only=True):
    """Terms by which requests of one context are counted, under any edits.

    - `counts`, `weights`: the running features of its tree, and their weights.
    - `strips`: the provider removes thinking of earlier turns.
    - `is_rebuilt`: the request is built from a transcript.
    - `client`: unrecorded tokens, added by the client or the provider.
    - `residual`: the remaining tokens of the report; the same under all edits.
    - `gone`: blocks that reports show to be absent: position, and tokens beyond those of the replacement that was read.
    """

    counts: Cumulated
    weights: Weights
    strips: bool
    is_rebuilt: bool
    client: int
    gone: Sequence[tuple[int, int]]
    residual: int = 0


def counting_terms(book: Book, call: Call, context: Context) -> CountingTerms:
    """Terms to count requests after `call` with `context`.

    Raises `IndexError` while it is not counted.
    """
    model = call.model or book.session.model
    absences = book.contexts.absences_at(context.head).by_node
    terms = CountingTerms(
        counts=book.cumulated(model),
        weights=book.weights(model),
        strips=book.card(model).strips_thinking,
        is_rebuilt=call.skeleton is None,
        client=unrecorded_tokens(book, call),
        gone=[
            (context.position(n), max(0, book.block_tokens(model, n) - absence.left)) for n, absence in absences.items()
        ],
    )
    if call.is_edited:
        # No report exists for the context without edits.
        return replace(terms, residual=next_figures(book, call, context.head).residual)
    plain = count_under(terms, Applied(context, length=len(context)), book.measure(model))
    return replace(terms, residual=next_figures(book, call, context.head).context_tokens - plain.whole)


def count_under(terms: CountingTerms, applied: Applied, measure: Measure) -> RequestCount:
    """Count the request under `applied` by `terms`; `measure` gives the features of a new block."""
    unwritten = omitted_positions(applied.context) if terms.is_rebuilt else ()
    # Rebuilt Anthropic requests have no two consecutive messages of one role (`wire.translate.anthropic`).
    joins = terms.is_rebuilt and applied.context.dialect == ANTHROPIC
    sums = body_sums(
        applied,
        terms.counts,
        terms.weights,
        measure,
        strips=terms.strips,
        left_out=unwritten,
        joins=joins,
    )
    returning_tokens = sum(tokens for at, tokens in terms.gone if at not in applied.changes and at not in unwritten)
    return RequestCount(sum(sums), terms.client, returning_tokens, terms.residual, tuple(sums))


def omitted_positions(context: Context) -> list[int]:
    """Positions that a request from a transcript leaves out.

    They are unanswered calls, and Anthropic's unsigned thinking.
    """
    return context.unanswered + (_unsigned(context) if context.dialect == ANTHROPIC else [])


def _unsigned(context: Context) -> list[int]:
    """Positions of thinking without a signature; each block is checked once."""
    checked, unsigned = context.derived.unsigned
    thinking = context.thinking
    if checked < len(thinking):
        new = thinking[checked:]
        unsigned = unsigned + [p for p in new if not _is_signed(context, context.items[p].block)]
        context.derived.unsigned = checked + len(new), unsigned
    return unsigned


def _is_signed(context: Context, block: Block) -> bool:
    signed = context.derived.signed.get(block.digest)
    if signed is None:
        signed = context.derived.signed[block.digest] = is_signed(block.value())
    return signed


class ReportedWeights(Struct, frozen=True):
    """Converts features to tokens by `weights`, times `share`."""

    weights: Weights
    share: float

    def __call__(self, features: Features) -> float:
        return weigh(features, self.weights) * self.share


def weigh_as_reported(book: Book, model: str, head: int, request: NextRequest) -> Weigh:
    """Make the function that weighs blocks of `request` as they count in the session.

    `head` is the context of `request`. If the blocks present count more than the reported total, all are scaled down to
    it.
    """
    tree, counts, weights = book.session.tree, book.cumulated(model), book.weights(model)
    features_read = sum_features(counts.composition_at(head))
    start = tree[head].turn_start
    if book.card(model).strips_thinking and start != ROOT:
        features_read = minus(features_read, counts.features_at(tree[start].parent, INDEX["thinking"]))
    counted, reported = weigh(features_read, weights), request.prompt.total
    absences = book.contexts.absences_at(head)
    if absences:
        counted -= sum(book.contexts.tokens(model, head, absences))
    return ReportedWeights(weights, min(1.0, reported / counted) if counted > 0 and reported > 0 else 1.0)
