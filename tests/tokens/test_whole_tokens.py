"""Whole tokens of contexts are what their features come to, and each row is weighed once."""

from __future__ import annotations

import random

import pytest

from ctxtui.core.category import CATEGORIES
from ctxtui.tokens import cumulate
from ctxtui.tokens.cumulate import FeatureRows, WholeTokens
from ctxtui.tokens.features import Features
from ctxtui.tokens.weights import Weights, weigh


def _weights(dice: random.Random) -> Weights:
    factors = Features(*(dice.uniform(-0.5, 2.0) for _ in Features._fields))
    return Weights(factors, Features(), 0.1, exact=False)


def _grown(rows: FeatureRows, dice: random.Random, many: int) -> None:
    for _ in range(many):
        own = Features(*(float(dice.randrange(0, 400)) for _ in Features._fields))
        rows.add(dice.randrange(len(rows)), [(dice.randrange(len(CATEGORIES)), own)])


def test_every_context_comes_to_what_its_features_come_to() -> None:
    dice, rows = random.Random(5), FeatureRows()
    weights = _weights(dice)
    whole = WholeTokens(rows, weights)
    for many in (40, 6_000):
        _grown(rows, dice, many)
        for number in dice.sample(range(len(rows)), 30):
            told = tuple(round(weigh(one, weights)) for one in rows.composition_at(number))
            assert whole.tokens_at(number) == told
            assert tuple(whole.category_tokens(number, category) for category in range(len(CATEGORIES))) == told
    rows.replace(7, 3, [(1, Features(text=9.0))])
    assert whole.category_tokens(7, 1) == round(weigh(rows.features_at(7, 1), weights)), "one that is counted again"
    with pytest.raises(IndexError):
        whole.tokens_at(len(rows))


def test_a_row_is_weighed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    weighed: list[Features] = []

    def counted(features: Features, weights: Weights) -> float:
        weighed.append(features)
        return weigh(features, weights)

    monkeypatch.setattr(cumulate, "weigh", counted)
    dice, rows = random.Random(6), FeatureRows()
    _grown(rows, dice, 300)
    whole = WholeTokens(rows, _weights(dice))
    for _ in range(3):
        for number in range(len(rows)):
            whole.tokens_at(number)
    assert len(weighed) == 301, "one row for each context, and that of none"
