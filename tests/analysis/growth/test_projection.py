"""Where a session is heading."""

from __future__ import annotations

import pytest

from ctxtui.analysis.context_window import ContextWindow
from ctxtui.analysis.growth.projection import (
    ROUND,
    TURN,
    Limit,
    automatic_compaction,
    forecast_outlook,
    measure_turns,
    reach_limit,
)
from ctxtui.analysis.growth.units_ahead import Range
from ctxtui.core import block
from ctxtui.core.call import Epoch, EpochStart
from ctxtui.core.session import Session
from ctxtui.core.usage import Usage
from ctxtui.services.config.package_data import model_table
from tests.analysis.sessions import Script, book


def usd(usage: Usage) -> float:
    """A cent per thousand fresh or written tokens, a tenth of it per thousand read."""
    return (usage.fresh + usage.cache_write) * 1e-5 + usage.cache_read * 1e-6


def steady(turns: int = 6, per_turn: int = 10_000, calls: int = 2) -> Session:
    script = Script("claude-opus-4-5")
    size = 20_000
    for n in range(turns):
        script.hear(block.text(f"turn {n}"))
        for _ in range(calls):
            grown = per_turn // calls
            script.call(block.text("ok"), usage=Usage(cache_read=size, write_5m=grown, output=50))
            size += grown
    return script.session


def test_a_steady_session_goes_on_steadily() -> None:
    counted = book(steady(), model_table())
    assert [turn.growth for turn in measure_turns(counted, "main")] == [None] + [10_000] * 5
    seen = forecast_outlook(counted, "main", 3, 200_000, usd)
    assert (seen.context, seen.turns, seen.unit) == (80_000, 6, TURN)
    assert seen.growth is not None and seen.growth.low < 10_000 < seen.growth.high
    assert seen.after is not None and seen.after.low < 110_000 < seen.after.high
    assert seen.pace is not None and seen.pace.mid == pytest.approx((seen.after.mid - 80_000) / 3)
    reads = sum(80_000 + 5_000 * n for n in range(6))
    assert seen.usd is not None and seen.usd.low < 30_000 * 1e-5 + reads * 1e-6 < seen.usd.high


def test_an_agent_that_plays_by_itself_is_counted_in_rounds() -> None:
    script = Script("claude-opus-4-5")
    script.hear(block.text("play"))
    for n in range(11):
        script.call(block.text(f"ok {n}"), usage=Usage(fresh=10_000 + 8_000 * n, output=50))
        script.hear(block.from_part({"type": "tool_result", "tool_use_id": "t", "content": f"{n}"}))
    counted = book(script.session, model_table())
    seen = forecast_outlook(counted, "main", 10, 200_000, usd)
    assert (seen.unit, seen.turns, seen.calls) == (ROUND, 11, None)
    assert seen.growth is not None and seen.growth.low < 8_000 < seen.growth.high
    # Ten calls of 98,000 to 170,000 fresh tokens, not ten runs of eleven calls.
    assert (
        seen.usd is not None and seen.usd.low < sum(98_000 + 8_000 * n for n in range(10)) * 1e-5 < seen.usd.high < 25
    )


@pytest.mark.parametrize("turns", [2, 3, 6, 20])
@pytest.mark.parametrize("ahead", [1, 10])
def test_no_range_has_no_width(turns: int, ahead: int) -> None:
    seen = forecast_outlook(book(steady(turns), model_table()), "main", ahead, 200_000, usd)
    for found in (seen.growth, seen.calls, seen.output, seen.after, seen.usd, seen.pace):
        assert found is not None and found.low < found.high and found.low <= found.mid <= found.high


def test_limits_come_soonest_with_the_highest_growth() -> None:
    growth = Range(1_000, 10_000, 30_000)
    assert reach_limit(150_000, "setting", 80_000, growth) == Limit(150_000, "setting", (3, 7, 70))
    assert reach_limit(80_000, "setting", 80_000, growth).turns == (0, 0, 0)
    assert reach_limit(150_000, "setting", 80_000, Range(-5, 0, 10_000)).turns == (7, None, None)
    assert reach_limit(150_000, "setting", 80_000, None).turns == (None, None, None)


def test_a_compaction_is_no_growth_and_tells_where_the_next_one_comes() -> None:
    script = Script("claude-opus-4-5")
    for size in (50_000, 160_000):
        script.hear(block.text(str(size))).call(block.text("ok"), usage=Usage(fresh=size))
    script.epoch = Epoch(2, EpochStart.COMPACTION)
    script.head = 0
    script.hear(block.text("summary")).call(block.text("ok"), usage=Usage(fresh=20_000))
    counted = book(script.session, model_table())
    assert [turn.growth for turn in measure_turns(counted, "main")] == [None, 110_000, None]
    assert automatic_compaction(counted, "main", ContextWindow(limit=200_000, usable=150_000, window=200_000)) == (
        160_000,
        "observed",
    )


def test_without_a_price_or_a_second_turn_nothing_is_made_up() -> None:
    script = Script("claude-opus-4-5")
    script.hear(block.text("hello")).call(block.text("ok"), usage=Usage(fresh=100))
    counted = book(script.session, model_table())
    seen = forecast_outlook(counted, "main", 5, 0, usd)
    assert (seen.growth, seen.after, seen.usd) == (None, None, None)
    assert forecast_outlook(book(steady(), model_table()), "main", 5, 0, lambda usage: None).usd is None
    assert (
        automatic_compaction(counted, "main", ContextWindow(limit=200_000, usable=150_000, window=200_000)) is None
    ), "nobody knows this client"
