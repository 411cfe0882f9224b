"""Compositions that share their rows are those that tuples of features would hold."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ctxtui.core.category import CATEGORIES
from ctxtui.tokens.cumulate import FeatureRows
from ctxtui.tokens.features import NOTHING, Features, plus

numbers = st.floats(-1e6, 1e6) | st.integers(0, 50_000)
features = st.tuples(*[numbers] * len(NOTHING)).map(Features._make)
grown = st.lists(st.tuples(st.integers(0, len(CATEGORIES) - 1), features), max_size=3)
steps = st.lists(st.tuples(st.integers(0, 10**6), grown), max_size=30)


@given(steps)
def test_compositions_are_those_of_tuples(steps: list[tuple[int, list[tuple[int, Features]]]]) -> None:
    rows, plain = FeatureRows(), [(NOTHING,) * len(CATEGORIES)]
    for before, more in steps:
        before %= len(plain)
        if not more:
            rows.add_same(before)
            plain.append(plain[before])
            continue
        rows.add(before, more)
        mixed = list(plain[before])
        for category, own in more:
            mixed[category] = plus(mixed[category], own)
        plain.append(tuple(mixed))
    if len(plain) > 2:
        rows.replace(1, 0, [(2, Features(text=1.5))])
        plain[1] = (NOTHING, NOTHING, Features(text=1.5), *plain[0][3:])
        rows.replace_same(2, 1)
        plain[2] = plain[1]
    assert [rows.composition_at(number) for number in range(len(rows))] == plain
    assert all(
        rows.features_at(number, category) == plain[number][category] == rows.values(rows.row_at(number, category))
        for number in range(len(rows))
        for category in range(len(CATEGORIES))
    )
