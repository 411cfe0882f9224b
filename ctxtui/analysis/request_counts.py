"""Counts the tokens of a request under edits: the one source of figures for price tags."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.analysis.book import Book
from ctxtui.analysis.cache.what_if import NextRequest, Weigh
from ctxtui.analysis.figures import lacking, next_figures
from ctxtui.core.block import Block
from ctxtui.core.call import Call
from ctxtui.core.category import INDEX
from ctxtui.core.tree import ROOT
from ctxtui.curation.apply.applied import Applied
from ctxtui.curation.context import Context
from ctxtui.curation.price.request_count import Measure, RequestCount, body_sums
from ctxtui.tokens.cumulate import Cumulated
from ctxtui.tokens.features import NOTHING, Features, minus, plus
from ctxtui.tokens.weights import Weights, weigh
from ctxtui.wire.grammar import ANTHROPIC
from ctxtui.wire.translate.anthropic import is_signed


def request_count(book: Book, call: Call, applied: Applied, measure: Measure | None = None) -> RequestCount:
    """Count the request after `call` (or in its place) under `applied`, by the session's weights.

    The client's additions and the residual are those of `call`. `measure` counts blocks that no context has yet
    (None: as the book does). Raises `IndexError` while the context is not counted.
    """
    terms = counting_terms(book, call, applied.context)
    return count_under(terms, applied, measure or book.measure(call.model or book.session.model))


class CountingTerms(Struct, frozen=True, kw_only=True):
    """Terms to count requests of one context under any edits.

    `counts` are the running features of its tree, with their `weights`; `strips` says that the provider removes
    thinking of earlier turns, `made` that the request is built from a transcript. `client` are tokens added by
    the client, `residual` is the same under all edits, and `gone` lists blocks that reports show to be absent:
    position, and tokens beyond those of the replacement that was read.
    """

    counts: Cumulated
    weights: Weights
    strips: bool
    made: bool
    client: int
    gone: Sequence[tuple[int, int]]
    residual: int = 0


def counting_terms(book: Book, call: Call, context: Context) -> CountingTerms:
    """Terms to count requests after `call` with `context`; without edits the count equals its figures.

    Raises `IndexError` while it is not counted.
    """
    model = call.model or book.session.model
    absences = book.contexts.at(context.head).of
    terms = CountingTerms(
        counts=book.cumulated(model),
        weights=book.weights(model),
        strips=book.card(model).strips_thinking,
        made=call.skeleton is None,
        client=lacking(book, call),
        gone=[(context.position(n), max(0, book.own(model, n) - absence.left)) for n, absence in absences.items()],
    )
    if call.is_edited:
        # No report exists for the context without edits.
        return replace(terms, residual=next_figures(book, call, context.head).residual)
    plain = count_under(terms, Applied(context, length=len(context)), book.measure(model))
    return replace(terms, residual=next_figures(book, call, context.head).context_tokens - plain.whole)


def count_under(terms: CountingTerms, applied: Applied, measure: Measure) -> RequestCount:
    """Count the request under `applied`; `measure` is as in `request_count`."""
    unwritten = left_out(applied.context) if terms.made else ()
    # Rebuilt Anthropic requests have no two consecutive messages of one role (`wire.translate.anthropic`).
    joins = terms.made and applied.context.dialect == ANTHROPIC
    found = body_sums(
        applied,
        terms.counts,
        terms.weights,
        measure,
        strips=terms.strips,
        left_out=unwritten,
        joins=joins,
    )
    back = sum(tokens for at, tokens in terms.gone if at not in applied.changes and at not in unwritten)
    return RequestCount(sum(found), terms.client, back, terms.residual, tuple(found))


def left_out(context: Context) -> list[int]:
    """Positions that a request built from a transcript leaves out because the provider would refuse them.

    These are unanswered calls, and in Anthropic's dialect thinking without a signature.
    """
    return context.unanswered + (_unsigned(context) if context.dialect == ANTHROPIC else [])


def _unsigned(context: Context) -> list[int]:
    """Positions of thinking without a signature; each block is checked once."""
    looked, found = context.derived.unsigned
    thinking = context.thinking
    if looked < len(thinking):
        new = thinking[looked:]
        found = found + [p for p in new if not _is_signed(context, context.items[p].block)]
        context.derived.unsigned = looked + len(new), found
    return found


def _is_signed(context: Context, block: Block) -> bool:
    found = context.derived.signed.get(block.digest)
    if found is None:
        found = context.derived.signed[block.digest] = is_signed(block.value())
    return found


class ReportedWeights(Struct, frozen=True):
    """Turns features into tokens by `weights`, scaled by the reported `share`."""

    weights: Weights
    share: float

    def __call__(self, features: Features) -> float:
        """Tokens of `features`."""
        return weigh(features, self.weights) * self.share


def as_reported(book: Book, model: str, head: int, found: NextRequest) -> Weigh:
    """Weigher for blocks of the request `found`, whose context is `head`.

    Blocks weigh what they count for in the session, so that an edit frees exactly their tokens. Reported tokens
    beyond the blocks belong to none of them: they stay when blocks are removed. If the blocks present count more
    than the total, all are scaled down to it.
    """
    tree, counts, weights, seen = book.session.tree, book.cumulated(model), book.weights(model), NOTHING
    for features in counts.composition_at(head):
        seen = plus(seen, features)
    start = tree[head].turn_start
    if book.card(model).strips_thinking and start != ROOT:
        seen = minus(seen, counts.features_at(tree[start].parent, INDEX["thinking"]))
    counted, told = weigh(seen, weights), found.prompt.total
    gone = book.contexts.at(head)
    if gone:
        counted -= sum(book.contexts.tokens(model, head, gone))
    return ReportedWeights(weights, min(1.0, told / counted) if counted > 0 and told > 0 else 1.0)
