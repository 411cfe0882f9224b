"""Windows of five hours begin with the hour of the first call that none holds; every timed call is in exactly one."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ctxtui.analysis.money.quota_windows import FIVE_HOURS, HOUR, WEEK, CallUse, five_hour_windows, last_week

CALLS = st.lists(
    st.builds(
        CallUse,
        st.integers(0, 40 * HOUR),
        st.integers(0, 10**6),
        st.none() | st.floats(0, 10, allow_nan=False),
    )
)


@given(CALLS)
def test_every_call_with_a_time_is_in_one_window(calls: list[CallUse]) -> None:
    windows, timed = five_hour_windows(calls), [one for one in calls if one.started]
    assert sum(window.calls for window in windows) == len(timed)
    assert sum(window.tokens for window in windows) == sum(one.tokens for one in timed)
    for one in timed:
        assert sum(window.is_open_at(one.started) for window in windows) == 1
    for before, then in pairwise(windows):
        assert before.end <= then.last and before.start < then.start and then.start % HOUR == 0


def test_a_window_lasts_five_hours_from_its_first_hour() -> None:
    first = 100 * HOUR + 1800
    calls = [CallUse(first, 10, 1.0), CallUse(first + 4 * HOUR, 20, None), CallUse(100 * HOUR + FIVE_HOURS, 30, 2.0)]
    one, two = five_hour_windows(calls)
    assert (one.start, one.calls, one.tokens, one.usd, one.unpriced) == (100 * HOUR, 2, 30, 1.0, 1)
    assert (two.start, two.calls, two.tokens, two.usd) == (105 * HOUR, 1, 30, 2.0)


def test_the_week_ends_now() -> None:
    at = 3 * WEEK
    calls = [CallUse(at, 1, 1.0), CallUse(at - WEEK, 2, 1.0), CallUse(at - WEEK + 1, 4, 1.0), CallUse(at + 1, 8, 1.0)]
    assert last_week(calls, at).tokens == 5
