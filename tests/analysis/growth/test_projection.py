"""Where a session is heading."""

from __future__ import annotations

import pytest

from ctxtui.analysis.context_window import running_window
from ctxtui.analysis.growth.projection import Limit, Range, compacts_at, limit, outlook, range_of, turns_of
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
    assert [turn.growth for turn in turns_of(counted, "main")] == [None] + [10_000] * 5
    seen = outlook(counted, "main", 3, 200_000, usd)
    assert seen.context == 80_000 and seen.growth == Range(10_000, 10_000, 10_000)
    assert seen.after == Range(110_000, 110_000, 110_000)
    reads = sum(80_000 + 5_000 * n for n in range(6))
    assert seen.usd is not None and seen.usd.low == pytest.approx(30_000 * 1e-5 + reads * 1e-6)
    assert seen.usd.low <= seen.usd.mid <= seen.usd.high, "misses only make it dearer"


def test_limits_come_soonest_with_the_highest_growth() -> None:
    growth = Range(1_000, 10_000, 30_000)
    assert limit(150_000, "setting", 80_000, growth) == Limit(150_000, "setting", (3, 7, 70))
    assert limit(80_000, "setting", 80_000, growth).turns == (0, 0, 0)
    assert limit(150_000, "setting", 80_000, Range(-5, 0, 10_000)).turns == (7, None, None)
    assert limit(150_000, "setting", 80_000, None).turns == (None, None, None)


def test_a_compaction_is_no_growth_and_tells_where_the_next_one_comes() -> None:
    script = Script("claude-opus-4-5")
    for size in (50_000, 160_000):
        script.hear(block.text(str(size))).call(block.text("ok"), usage=Usage(fresh=size))
    script.epoch = Epoch(2, EpochStart.COMPACTION)
    script.head = 0
    script.hear(block.text("summary")).call(block.text("ok"), usage=Usage(fresh=20_000))
    counted = book(script.session, model_table())
    assert [turn.growth for turn in turns_of(counted, "main")] == [None, 110_000, None]
    assert compacts_at(counted, "main", running_window(200_000, 0.75)) == (160_000, "observed")


def test_without_a_price_or_a_second_turn_nothing_is_made_up() -> None:
    script = Script("claude-opus-4-5")
    script.hear(block.text("hello")).call(block.text("ok"), usage=Usage(fresh=100))
    counted = book(script.session, model_table())
    seen = outlook(counted, "main", 5, 0, usd)
    assert (seen.growth, seen.after, seen.usd) == (None, None, None)
    assert outlook(book(steady(), model_table()), "main", 5, 0, lambda usage: None).usd is None
    assert compacts_at(counted, "main", running_window(200_000, 0.75)) is None, "nobody knows this client"


def test_few_turns_give_their_whole_range() -> None:
    assert range_of([]) is None
    assert range_of([3, 1, 2]) == Range(1, 2, 3)
    assert range_of(list(range(101))) == Range(10, 50, 90)
