"""What a search for advice needs of an open session, in plain values: so that a process of its own can do it, which
then neither reads nor counts nor replays the session again."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from ctxtui.analysis.book import Book
from ctxtui.analysis.request_counts import CountingTerms, count_under, counting_terms
from ctxtui.cache.prefix_key import PrefixEnd, Prefixes, RequestEnds
from ctxtui.cache.prefix_seed import Seed
from ctxtui.cache.prompt import CachedPrompt, CacheMark
from ctxtui.cache.rules import CacheRules
from ctxtui.cache.simulate import Simulator
from ctxtui.core.block import Block, Place
from ctxtui.core.call import Call
from ctxtui.core.canonical import Json
from ctxtui.core.edit import Edit
from ctxtui.core.tree import ROOT, Tree
from ctxtui.curation.apply.applied import Applied
from ctxtui.curation.apply.apply import apply
from ctxtui.curation.context import Context
from ctxtui.curation.policies.situation import PolicyContext
from ctxtui.curation.price.dependence import Literals
from ctxtui.curation.price.price_tag import PriceQuestion, PriceTag
from ctxtui.curation.price.sent_path import SentPath
from ctxtui.curation.price.staged_prompt import Front, trail_of
from ctxtui.curation.provider_rules import rules_for
from ctxtui.dataclasses import dataclass, replace
from ctxtui.pricing.price import essence
from ctxtui.services.counting.pricing import Pricer
from ctxtui.services.editing.advice_search.search import AdviceSearch, weighed_once
from ctxtui.services.editing.next_request import Charges, Next, Rates
from ctxtui.tokens.cumulate import Cumulated
from ctxtui.tokens.features import Features
from ctxtui.tokens.models import ModelCard
from ctxtui.tokens.weights import Weights, tokens

_NODES: Final = 500
_BYTES: Final = 1 << 18
"""Nodes, and bytes of their bodies, in one part: a millisecond's work, for it is done beside the keys."""

Measure = Callable[[Block], Features]
"""Counts one block."""


class NodeColumns(NamedTuple):
    """Some nodes more, numbered on from those before (the first of all is 1): the number of each one's parent, its
    block and place, and how many tokens the request has up to it."""

    parents: Sequence[int]
    kinds: Sequence[str]
    digests: Sequence[str]
    bodies: Sequence[bytes]
    places: Sequence[Place]
    lengths: Sequence[int]


@dataclass(frozen=True, kw_only=True)
class SearchTerms:
    """All else. `raw` and `sent` are the numbers of the nodes at which the request ends, without edits and with those
    that are `applied` (`is_edited`: there are any, also where they only set markers); `marks` are its cache markers
    (number of the node, lifetime, and as `CacheMark.ends`). Blocks are counted by the `card` under `weights`, those of
    the request as `weigh` has it; `sizes` are the tokens of each block as the model reads it, `counts` the running
    features; `front` is what the request has before all of them. `log` has all edits, `in_force` those that stand; with
    `is_staged` some of them are not applied. The rest are members of `CountingTerms`, `PolicyContext` and
    `PriceQuestion`."""

    raw: int
    sent: int
    is_edited: bool
    front: int
    dialect: str
    params: Mapping[str, Json]
    markers: Mapping[int, str]
    log: tuple[Edit, ...]
    in_force: tuple[Edit, ...]
    applied: tuple[Edit, ...]
    is_staged: bool
    card: ModelCard
    weights: Weights
    weigh: Callable[[Features], float]
    sizes: bytes
    counts: Sequence[Any]
    strips: bool
    made: bool
    client: int
    gone: Sequence[tuple[int, int]]
    residual: int
    usable: int
    cold: bool
    hidden: int
    has_literals: bool
    priced_as: Call
    priced_length: int
    rates: Mapping[int, Rates]
    rules: CacheRules
    seed: Seed
    skips_thinking: bool
    marks: Sequence[tuple[int, float, int]]
    total: int
    explicit: bool
    simulator: Simulator
    now: float
    sent_before: int | None
    parts_at: int | None
    kept: int | None
    floors: tuple[int, int]


class Unpackable(ValueError):
    """A search that stands on something of which no plain values tell."""


def packed(
    search: AdviceSearch, coming: Next, book: Book, call: Call, edits: tuple[Sequence[Edit], Sequence[Edit]]
) -> Iterator[NodeColumns | SearchTerms]:
    """The parts of `search`, which is about what follows `call`, for `SearchColumns` to take in order; `edits` are
    those that stand and those of them that are applied. An iterator of small steps. Raises `Unpackable`."""
    situation, asked = search.situation, coming.asked
    context, model = situation.context, call.model or book.session.model
    tree, length = context.tree, situation.applied.length if situation.applied.length >= 0 else len(context)
    raw = list(context.nodes[:length])
    sent = list(asked.path.nodes) if asked.path is not None else raw
    nodes = raw if asked.path is None else sorted({*raw, *sent})
    numbers = {node: number for number, node in enumerate(nodes, 1)}
    ends, charge = asked.place, asked.charge
    if ends is None or not isinstance(charge, Charges) or not raw or not sent:
        raise Unpackable("there is no next request")
    _check(asked.prompt.last, ends(sent[-1]))
    if asked.raw is not None:
        _check(asked.raw.trail[-1], ends(raw[-1]))
    standing = {spot.node for spot in asked.trail}
    if asked.prompt.answer is not None or not all(mark.spot.node in standing for mark in asked.prompt.marks):
        raise Unpackable("its markers stand elsewhere")
    length_of, start = asked.prompt.tokens, 0
    while start < len(nodes):
        stop, size = start, 0
        while stop < len(nodes) and stop - start < _NODES and size < _BYTES:
            size += len(tree[nodes[stop]].block.body)
            stop += 1
        some = [tree[node] for node in nodes[start:stop]]
        yield NodeColumns(
            [numbers.get(node.parent, ROOT) for node in some],
            [node.block.kind for node in some],
            [node.block.digest for node in some],
            [node.block.body for node in some],
            [node.place for node in some],
            [length_of(node.id) for node in some],
        )
        start = stop
    terms = counting_terms(book, call, context)
    yield SearchTerms(
        raw=numbers[raw[-1]],
        sent=numbers[sent[-1]],
        is_edited=asked.path is not None,
        front=length_of(ROOT),
        dialect=context.dialect,
        params=dict(context.params),
        markers=dict(context.markers),
        log=situation.log,
        in_force=tuple(edits[0]),
        applied=tuple(edits[1]),
        is_staged=len(edits[0]) > len(edits[1]),
        card=book.card(model),
        weights=terms.weights,
        weigh=coming.weigh,
        sizes=array("q", map(situation.tokens, range(length))).tobytes(),
        counts=terms.counts.kept_of(nodes),
        strips=terms.strips,
        made=terms.made,
        client=terms.client,
        gone=terms.gone,
        residual=terms.residual,
        usable=situation.usable,
        cold=situation.cold,
        hidden=situation.hidden,
        has_literals=situation.literals is not None,
        priced_as=essence(charge.call),
        priced_length=charge.length,
        rates=dict(charge.rates),
        rules=asked.prompt.rules,
        seed=ends.seed,
        skips_thinking=ends.strips,
        marks=[(numbers[mark.spot.node], mark.life, mark.ends) for mark in asked.prompt.marks],
        total=asked.prompt.total,
        explicit=asked.prompt.explicit,
        simulator=asked.simulator,
        now=asked.now,
        sent_before=asked.sent,
        parts_at=asked.parts_at,
        kept=asked.kept,
        floors=asked.floors,
    )


def _check(one: PrefixEnd, other: PrefixEnd) -> None:
    if (one.key, one.number) != (other.key, other.number):
        raise Unpackable("the request ends elsewhere")


class SearchColumns:
    """Takes the parts of a search in order, and makes the search of them."""

    def __init__(self) -> None:
        self._tree = Tree()
        self._lengths = [0]

    def take(self, part: NodeColumns) -> None:
        """Some nodes more."""
        child = self._tree.child
        *columns, lengths = part
        for parent, kind, digest, body, place in zip(*columns, strict=True):
            child(parent, Block(digest, kind, body), place)
        self._lengths += lengths

    def search(self, terms: SearchTerms, measure: Measure, pricer: Pricer) -> tuple[AdviceSearch, PriceTag | None]:
        """The search, and what is staged already costs; `measure` counts new blocks."""
        self._lengths[ROOT] = terms.front
        tree = self._tree
        context = Context(tree, terms.raw, terms.dialect, terms.params, terms.markers)
        rules = rules_for(context.dialect, terms.card)
        before = apply(context, terms.applied, rules)
        applied = apply(context, terms.in_force, rules) if terms.is_staged else before
        counts = Cumulated(tree, measure)
        counts.take_over(terms.counts)
        literals = Literals(context) if terms.has_literals else None
        if literals is not None:
            literals.advance()
        counting = CountingTerms(
            counts=counts,
            weights=terms.weights,
            strips=terms.strips,
            made=terms.made,
            client=terms.client,
            gone=terms.gone,
            residual=terms.residual,
        )
        sizes = array("q", terms.sizes)
        found = AdviceSearch(
            situation=PolicyContext(
                context=context,
                log=terms.log,
                tokens=sizes.__getitem__,
                count=lambda block: round(tokens(measure(block), terms.weights)),
                usable=terms.usable,
                rules=rules,
                literals=literals,
                cold=terms.cold,
                hidden=terms.hidden,
                known=applied,
            ),
            before=before,
            asked=self._asked(terms, context, before, pricer),
            count=weighed_once(lambda block: round(terms.weigh(measure(block)))),
            counted=partial(count_under, counting, measure=measure),
        )
        return found, found.priced(applied) if terms.is_staged else None

    def _asked(self, terms: SearchTerms, context: Context, before: Applied, pricer: Pricer) -> PriceQuestion:
        tree = self._tree
        ends = RequestEnds(Prefixes(tree), terms.seed, terms.skips_thinking)
        last = ends(terms.sent)
        spots = {spot.node: spot for spot in last.back()}
        marks = tuple(CacheMark(spots[node], life, where) for node, life, where in terms.marks)
        prompt = CachedPrompt(terms.rules, last, marks, self._lengths.__getitem__, terms.total, terms.explicit)
        asked = PriceQuestion(
            terms.simulator,
            prompt,
            Charges(pricer, terms.priced_as, terms.priced_length, terms.rates),
            terms.now,
            place=ends,
            sent=terms.sent_before,
            parts_at=terms.parts_at,
            kept=terms.kept,
            floors=terms.floors,
        )
        if not terms.is_edited:
            return asked
        plain = Applied(context, length=before.length)
        front = Front(plain, trail_of(prompt._replace(last=ends(terms.raw))), SentPath(context))
        return replace(asked, path=SentPath(context, before, tree.path(terms.sent)), raw=front)
