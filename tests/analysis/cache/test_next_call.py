"""How long what the next call reads is still cached."""

from __future__ import annotations

import pytest

from ctxtui.analysis.cache.next_call import NextCallForecast


def coming(at: float, expires: float | None, life: float) -> NextCallForecast:
    return NextCallForecast(
        model="m", input=10, lo=9, hi=11, read=5, write=5, fresh=0, answer=1, usd=(0.0, 0.0, 0.0, 0.0), uncached=0.0,
        at=at, expires=expires, life=life, inferred=False,
    )  # fmt: skip


@pytest.mark.parametrize("now", [-990.0, 0.0, 10.0, 299.0, 400.0])
def test_nothing_is_cached_for_longer_than_it_lives(now: float) -> None:
    """Also where the recording's clock is ahead of this one: a call that ended in sixteen minutes."""
    left = coming(0.0, 300.0, 300.0).seconds_left(now)
    assert left is not None and left <= 300 and left == 300 - max(0.0, now)


def test_what_is_not_cached_does_not_expire() -> None:
    assert coming(0.0, None, 300.0).seconds_left(10.0) is None
    assert coming(0.0, 700.0, 0.0).seconds_left(100.0) == 600, "a lifetime that is not known bounds nothing"
