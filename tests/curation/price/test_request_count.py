"""What a request under edits comes to is what its items come to, counted one by one in a tree of their own."""

from __future__ import annotations

import os
from random import Random

import pytest

from ctxtui.core.block import Block
from ctxtui.core.category import INDEX
from ctxtui.core.tree import ROOT, Tree
from ctxtui.curation.apply.applied import Applied, sent_items
from ctxtui.curation.apply.apply import apply
from ctxtui.curation.price.request_count import RequestCount, body_sums
from ctxtui.curation.provider_rules import rules_for
from ctxtui.services.config.package_data import model_table
from ctxtui.tokens.cumulate import Cumulated
from ctxtui.tokens.features import Features
from ctxtui.tokens.weights import Weights, prior_weights, weigh
from tests.curation.conversations import context_of
from tests.curation.shaped import SHAPES, edits
from tests.sampling import few

THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"


def measure(block: Block) -> Features:
    if block.kind == "header":
        return Features(text=len(block.body) % 7, messages=1)
    if block.kind in ("thinking", "redacted_thinking", "reasoning"):
        return Features(thinking=len(block.body))
    return Features(text=len(block.body), json=3 * block.body.count(b'"'))


def one_by_one(applied: Applied, weights: Weights, *, strips: bool) -> list[int]:
    """The same by the way of a reader: every block of the request, in a tree of its own."""
    tree = Tree()
    head = tree.extend(ROOT, sent_items(applied))
    counts = Cumulated(tree, measure)
    counts.advance()
    found = [round(weigh(features, weights)) for features in counts.composition_at(head)]
    start = tree[head].turn_start
    if strips and start != ROOT:
        thinking = INDEX["thinking"]
        found[thinking] -= round(weigh(counts.composition_at(tree[start].parent)[thinking], weights))
    return found


@pytest.mark.parametrize("dialect", few(sorted(SHAPES)))
def test_arithmetic_on_what_changed_gives_the_count_of_all_that_leaves(dialect: str) -> None:
    touched = 0
    for number in range(800 if THOROUGH else 120):
        rng = Random(f"count {dialect} {number}")
        body = SHAPES[dialect](rng)
        context, _ = context_of(body, dialect)
        card = model_table().card(body["model"])
        applied = apply(context, edits(rng, context), rules_for(dialect, card))
        counts = Cumulated(context.tree, measure)
        counts.advance()
        for strips in (False, True):
            arithmetic = body_sums(applied, counts, prior_weights(card), measure, strips=strips)
            assert arithmetic == one_by_one(applied, prior_weights(card), strips=strips), (number, strips)
        touched += applied.is_changed
    assert touched > 60


def test_a_request_is_its_body_and_what_the_client_adds() -> None:
    assert RequestCount(120, 30).whole == 150
    count = RequestCount(120, 30, back=20, residual=7)
    assert count.whole == 137 == count.body + count.client + count.beyond
