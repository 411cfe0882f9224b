"""The quotes of what edits take away, held against what a quote is."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxtui.curation.apply.applied import Applied
from ctxtui.curation.apply.apply import apply
from ctxtui.curation.price.dependence import Literals, find_quotes
from ctxtui.curation.provider_rules import rules_for
from tests.curation.price.test_price_tag import Scene
from tests.curation.shaped import SHAPES, edits

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("dialect", sorted(SHAPES))
@settings(max_examples=20)
@given(seed=st.integers(0, 1 << 30), most=st.sampled_from([1, 3, 200]))
def test_quotes_are_what_a_quote_is(dialect: str, seed: int, most: int) -> None:
    rng = Random(seed)
    scene = Scene(dialect, SHAPES[dialect](rng), rng)
    literals = Literals(scene.context)
    literals.advance(len(scene.context) // 2)
    log, rules = edits(rng, scene.context), rules_for(dialect, scene.card)
    for count in range(len(log) + 1):
        if rng.random() < 0.1:
            literals.advance(5)
        after = apply(scene.context, log[:count], rules)
        assert find_quotes(literals, after, most) == one_by_one(literals, after, most)


def one_by_one(known: Literals, applied: Applied, most: int) -> list[tuple[str, int, tuple[int, ...]]]:
    """By what a quote is: each literal that goes from a place before which nothing says it, and who says it later."""
    said = {x for one in applied.inserts for item in one.items for x in known.of_block(item.block)}
    found = list[tuple[str, int, tuple[int, ...]]]()
    for position, change in applied.changes.items():
        still = known.of_block(change.after) if change.after is not None else frozenset[str]()
        for literal in (known.literals_at(position) & known.repeated) - still - said:
            stays = [p for p in known.positions(literal) if not _went(known, applied, p, literal)]
            first = all(_went(known, applied, p, literal) for p in known.positions(literal) if p < position)
            if stays and first:
                found.append((literal, position, tuple(stays)))
    return sorted(found, key=lambda one: (-len(one[2]), one[1], one[0]))[:most]


def _went(known: Literals, applied: Applied, position: int, literal: str) -> bool:
    change = applied.changes.get(position)
    return change is not None and (change.after is None or literal not in known.of_block(change.after))
