from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ctxtui.analysis.labels.segments import split_features
from ctxtui.tokens.features import NOTHING, Features, plus

WHOLE = st.builds(
    Features,
    text=st.integers(0, 10**6).map(float),
    result=st.integers(0, 10**6).map(float),
    json=st.integers(0, 999).map(float),
    image=st.floats(0, 5000),
    pages=st.floats(0, 5000),
    calls=st.sampled_from([0.0, 1.0]),
    letters=st.integers(0, 10**6).map(lambda n: n / 4),
    **dict.fromkeys(
        ("tools", "thinking", "hidden", "returns", "definitions", "messages", "symbols", "reported"), st.just(0.0)
    ),
)


@given(WHOLE, st.lists(st.integers(0, 10**5), min_size=1, max_size=40), st.data())
def test_shares_add_up_in_any_order(whole: Features, weights: list[int], data: st.DataObject) -> None:
    keeper = data.draw(st.integers(0, len(weights) - 1))
    parts = split_features(whole, weights, keeper)
    total = NOTHING
    for part in data.draw(st.permutations(parts)):
        total = plus(total, part)
    assert total == whole
    assert all(amount >= 0 for part in parts for amount in part)
    assert {n for n, part in enumerate(parts) if part.calls or part.image} <= {keeper}


def test_shares_follow_the_weights() -> None:
    assert [part.text for part in split_features(Features(text=100), [10, 30, 0, 60])] == [10, 30, 0, 60]
    assert [part.text for part in split_features(Features(text=7), [0, 0])] == [7, 0]
    assert [part.returns for part in split_features(Features(result=9, returns=1), [1, 2], 1)] == [0, 1]
