"""While a session grows its figures are brought up to date a few times a second; once it rests, at once."""

from __future__ import annotations

import pytest

from ctxtui.tui.inspector.loader import MAX_PAUSE_SECONDS, MIN_PAUSE_SECONDS, PAUSE_FACTOR, QUIET_SECONDS, Pace


class Clock:
    """Seconds that pass when told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def paced() -> tuple[Clock, Pace]:
    clock = Clock()
    return clock, Pace(clock)


def test_what_comes_after_a_rest_is_worked_out_at_once() -> None:
    clock, pace = paced()
    assert pace.left() == 0
    pace.grew()
    assert pace.left() == 0
    pace.worked(0.01)
    clock.now += MIN_PAUSE_SECONDS
    pace.grew()
    assert pace.left() == 0


@pytest.mark.parametrize(
    ("took", "rests"), [(0.001, MIN_PAUSE_SECONDS), (0.1, PAUSE_FACTOR * 0.1), (20.0, MAX_PAUSE_SECONDS)]
)
def test_a_session_that_grows_on_and_on_takes_a_small_share_of_a_processor(took: float, rests: float) -> None:
    clock, pace = paced()
    pace.grew()
    pace.worked(took)
    waited = 0.0
    while pace.left() > 0:
        clock.now += 1 / 30
        waited += 1 / 30
        pace.grew()
    assert rests <= waited + 1e-9 <= rests + 2 / 30


def test_growth_that_ends_is_worked_out_a_moment_later() -> None:
    clock, pace = paced()
    pace.grew()
    pace.worked(10.0)
    assert pace.left() == pytest.approx(QUIET_SECONDS)
    clock.now += QUIET_SECONDS
    assert pace.left() == 0


def test_a_key_waits_for_no_rest() -> None:
    _, pace = paced()
    pace.grew()
    pace.worked(1.0)
    assert pace.left() > 0
    pace.ask()
    assert pace.left() == 0
    pace.worked(1.0)
    assert pace.left() > 0
