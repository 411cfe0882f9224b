"""Packed compositions are those that tuples would hold, also after they were written down and read again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxtui.core.category import CATEGORIES
from ctxtui.tokens import feature_rows
from ctxtui.tokens.feature_rows import FeatureRows
from ctxtui.tokens.features import NOTHING, Features, plus

numbers = st.floats(-1e6, 1e6) | st.integers(0, 50_000)
features = st.tuples(*[numbers] * len(NOTHING)).map(Features._make)
grown = st.lists(st.tuples(st.integers(0, len(CATEGORIES) - 1), features), max_size=3)
steps = st.lists(st.tuples(st.integers(0, 10**6), grown), max_size=30)


@pytest.mark.slow
@given(steps, st.integers(1, 40))
def test_packed_compositions_are_those_of_tuples(steps: list[tuple[int, list[tuple[int, Features]]]], few: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(feature_rows, "_RECENT", few)
        rows, plain = FeatureRows(), [(NOTHING,) * len(CATEGORIES)]
        for before, more in steps:
            before %= len(plain)
            if not more:
                rows.same(before)
                plain.append(plain[before])
                continue
            rows.add(before, more)
            mixed = list(plain[before])
            for category, own in more:
                mixed[category] = plus(mixed[category], own)
            plain.append(tuple(mixed))
        if len(plain) > 2:
            rows.put(1, 0, [(2, Features(text=1.5))])
            plain[1] = (NOTHING, NOTHING, Features(text=1.5), *plain[0][3:])
            rows.put_same(2, 1)
            plain[2] = plain[1]
        again = FeatureRows.unpacked(rows.packed())
        patch.setattr(feature_rows, "_PIECE", 4)
        patch.setattr(feature_rows, "_MANY", 2)
        patch.setattr(feature_rows, "_UNPACKED", 2)
        kept = FeatureRows.unpacked(rows.packed())
        twice = FeatureRows.unpacked(kept.packed())
        # What stays packed grows as all others do, and is told again with what came.
        for one in (rows, again, kept, twice):
            one.add(len(plain) - 1, [(3, Features(text=2.5, letters=0.25))])
            one.put(0, len(plain) // 2, [(1, Features(json=1.0))])
        mixed = list(plain[-1])
        mixed[3] = plus(mixed[3], Features(text=2.5, letters=0.25))
        other = list(plain[len(plain) // 2])
        other[1] = plus(other[1], Features(json=1.0))
        plain = [tuple(other), *plain[1:], tuple(mixed)]
        for one in (rows, again, kept, twice, FeatureRows.unpacked(twice.packed())):
            assert [one.at(number) for number in range(len(one))] == plain
            assert all(
                one.of(number, category) == plain[number][category]
                for number in range(len(plain))
                for category in range(len(CATEGORIES))
            )
    with pytest.raises(IndexError):
        rows.at(len(plain))


def test_another_machines_numbers_are_not_taken() -> None:
    way, *parts = FeatureRows().packed()
    with pytest.raises(ValueError, match="another machine"):
        FeatureRows.unpacked((way.replace("little", "big").replace("4", "8"), *parts))
