"""The figures at the left of the lab's chart: round, evenly apart, each where a curve of that height runs."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ctxtui.views.lists.lab import axis_labels
from ctxtui.views.text import scale


@given(st.integers(2, 40), st.integers(1, 3_000_000))
def test_the_axis_is_even_and_round(tall: int, most: int) -> None:
    top = scale.ceiling(most)
    told = axis_labels(tall, top)
    rows = sorted(told, reverse=True)
    assert rows[0] == tall - 1 and told[tall - 1] == 0 and all(0 <= row < tall for row in rows)
    values = [told[row] for row in rows]
    assert values == sorted(values) and len(values) <= 6
    assert len({round(after - before, 6) for before, after in pairwise(values)}) <= 1, "each a step above the one below"
    edges = [tall, *rows[1:]]
    apart = [below - above for below, above in pairwise(edges)]
    assert not apart or max(apart) - min(apart) <= 1
    for row, value in told.items():
        assert not value or abs((tall - row) / tall * top - value) <= top / tall / 2 + 1e-6
