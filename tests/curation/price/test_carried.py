"""What is carried on from one edit to the next is what is worked out from scratch, whatever is staged, undone and done
again in between."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxtui.core.block import Block
from ctxtui.core.edit import Edit
from ctxtui.curation.apply.applied import Applied
from ctxtui.curation.apply.apply import apply
from ctxtui.curation.apply.continued import apply_further
from ctxtui.curation.context import Context
from ctxtui.curation.price.dependence import Literals, QuotesUnder, quotes
from ctxtui.curation.price.price_tag import KnownPrice, PriceQuestion, price_tag
from ctxtui.curation.price.request_count import body_sums
from ctxtui.curation.price.stretches import KnownStretches
from ctxtui.curation.provider_rules import ProviderRules, rules_for
from ctxtui.dataclasses import replace
from ctxtui.tokens.cumulate import Cumulated
from ctxtui.tokens.features import Features, together
from ctxtui.tokens.weights import prior
from tests.curation.price.test_price_tag import Scene, charge_of, sizes
from tests.curation.price.test_request_count import measure as whole
from tests.curation.shaped import SHAPES, edits
from tests.sampling import few

pytestmark = pytest.mark.slow


def keys(rng: Random, context: Context, rules: ProviderRules | None) -> Iterator[tuple[Applied, Applied]]:
    """What is applied and what is staged on top of it, key by key: an edit more, one undone, one done again, all that
    is staged applied."""
    every = [edit for _ in range(3) for edit in edits(rng, context)]
    log, undone, done = list[Edit](), list[Edit](), 0
    before = after = apply(context, (), rules)
    for n, one in enumerate(every):
        edit = replace(one, id=f"k{n}")
        what = rng.random()
        if what < 0.2 and len(log) > done:
            undone.append(log.pop())
            after = apply(context, log, rules)
        elif what < 0.35 and undone:
            log.append(undone.pop())
            after = apply_further(after, log[:-1], log[-1:], rules)
        elif what < 0.4:
            done, before = len(log), after
        else:
            undone.clear()
            log.append(edit)
            after = apply_further(after, log[:-1], log[-1:], rules)
        yield before, after


@pytest.mark.parametrize("dialect", few(sorted(SHAPES)))
@settings(max_examples=10)
@given(seed=st.integers(0, 1 << 30))
def test_a_tag_that_is_carried_on_is_the_tag_from_scratch(dialect: str, seed: int) -> None:
    rng = Random(seed)
    scene = Scene(dialect, SHAPES[dialect](rng), rng)
    literals = Literals(scene.context)
    literals.advance()
    asked = PriceQuestion(scene.simulator, scene.base, charge_of(scene.model), scene.now)
    known, plain = KnownPrice(), apply(scene.context, ())
    for _, after in keys(rng, scene.context, rules_for(dialect, scene.card)):
        counted = sizes(scene, plain, after)
        carried = price_tag(plain, after, asked, scene.count, counted, literals, known)
        assert carried == price_tag(plain, after, asked, scene.count, counted, literals)


@pytest.mark.parametrize("dialect", sorted(SHAPES))
@settings(max_examples=15)
@given(seed=st.integers(0, 1 << 30), strips=st.booleans(), joins=st.booleans(), uneven=st.booleans())
def test_a_count_that_is_carried_on_is_the_one_from_scratch(
    dialect: str, seed: int, strips: bool, joins: bool, uneven: bool
) -> None:
    rng = Random(seed)
    scene = Scene(dialect, SHAPES[dialect](rng), rng)

    def measure(block: Block) -> Features:
        # Where some figures are fractions the sums of all of them hang on their order.
        found = whole(block)
        return found._replace(text=found.text / 3) if uneven and len(block.body) % 5 == 0 else found

    counts, weights, known = Cumulated(scene.context.tree, measure), prior(scene.card), KnownStretches()
    counts.advance()
    for before, after in keys(rng, scene.context, rules_for(dialect, scene.card)):
        for side in (after, before) if rng.random() < 0.2 else (after,):
            carried = body_sums(side, counts, weights, measure, strips=strips, joins=joins, known=known)
            scratch = KnownStretches()
            assert carried == body_sums(side, counts, weights, measure, strips=strips, joins=joins, known=scratch)
            assert added(known) == added(scratch)


def added(known: KnownStretches) -> dict[int, Features]:
    """What all stretches come to, to the last digit."""
    found: dict[int, list[Features]] = {}
    for category, features in known.moved():
        found.setdefault(category, []).append(features)
    return {category: sums for category, several in found.items() if any(sums := together(several))}


@pytest.mark.parametrize("dialect", sorted(SHAPES))
@settings(max_examples=20)
@given(seed=st.integers(0, 1 << 30), most=st.sampled_from([1, 3, 200]))
def test_quotes_that_are_carried_on_are_the_quotes_from_scratch(dialect: str, seed: int, most: int) -> None:
    rng = Random(seed)
    scene = Scene(dialect, SHAPES[dialect](rng), rng)
    literals = Literals(scene.context)
    literals.advance(len(scene.context) // 2)
    carried = QuotesUnder(literals)
    for _, after in keys(rng, scene.context, rules_for(dialect, scene.card)):
        if rng.random() < 0.1:
            literals.advance(5)
        assert carried.of(after, most) == quotes(literals, after, most) == one_by_one(literals, after, most)


def one_by_one(known: Literals, applied: Applied, most: int) -> list[tuple[str, int, tuple[int, ...]]]:
    """By what a quote is: each literal that goes from a place before which nothing says it, and who says it later."""
    said = {x for one in applied.inserts for item in one.items for x in known.said(item.block)}
    found = list[tuple[str, int, tuple[int, ...]]]()
    for position, change in applied.changes.items():
        still = known.said(change.after) if change.after is not None else frozenset[str]()
        for literal in (known.of(position) & known.repeated) - still - said:
            stays = [p for p in known.places(literal) if not _went(known, applied, p, literal)]
            first = all(_went(known, applied, p, literal) for p in known.places(literal) if p < position)
            if stays and first:
                found.append((literal, position, tuple(stays)))
    return sorted(found, key=lambda one: (-len(one[2]), one[1], one[0]))[:most]


def _went(known: Literals, applied: Applied, position: int, literal: str) -> bool:
    change = applied.changes.get(position)
    return change is not None and (change.after is None or literal not in known.said(change.after))
