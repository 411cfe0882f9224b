"""What staged edits would have saved in the calls that followed, held against the price tag's own figures."""

from __future__ import annotations

import pytest

from ctxtui.core.usage import Usage
from ctxtui.curation.price.rest_of_session import FreedBlock, LaterCall, rest_of_session, smaller

READ, WRITE, FRESH = 0.1, 1.25, 1.0


def charge(usage: Usage, at: float) -> float | None:
    return usage.cache_read * READ + usage.cache_write * WRITE + usage.fresh * FRESH


def test_calls_that_only_go_on_cost_what_the_tag_says_once_and_per_call() -> None:
    freed = (FreedBlock(at=20, before=10_000, tokens=3_000), FreedBlock(at=40, before=20_000, tokens=1_000))
    calls = [LaterCall(Usage(cache_read=50_000 + 100 * n, write_5m=100, fresh=5), float(n), freed) for n in range(10)]
    once, per_call = 700.0, -4_000 * READ
    found = rest_of_session(calls, lambda read: once, charge)
    assert found.saved == (4_000,) * 10 and not found.partial and found.calls == found.holding == 10
    assert found.usd == pytest.approx(once + 9 * per_call)


def test_a_miss_and_a_compaction_are_charged_for_what_they_were() -> None:
    freed = (FreedBlock(at=20, before=10_000, tokens=3_000),)
    calls = [
        LaterCall(Usage(cache_read=0, write_5m=50_000), 0.0, freed),
        LaterCall(Usage(cache_read=5_000, write_5m=45_000), 1.0, freed),
        LaterCall(None, 2.0, freed),
        LaterCall(Usage(cache_read=9_000), 3.0, ()),
    ]
    asked: list[int] = []

    def once(read: int) -> float:
        asked.append(read)
        return -1.0

    found = rest_of_session(calls, once, charge)
    assert asked == [0] and found.saved == (3_000, 3_000, 3_000, 0)
    assert found.usd == pytest.approx(-1.0 - 3_000 * WRITE) and found.partial and found.holding == 3
    assert rest_of_session(calls, once, None).usd is None
    half = rest_of_session(calls, lambda read: None, charge, 0.5)
    assert half.saved == found.saved and half.usd == pytest.approx(-1_500 * 2 * WRITE), "one is charged for two"


def test_tokens_go_from_where_they_stood_and_lifetimes_keep_their_shares() -> None:
    usage = Usage(fresh=10, cache_read=100, write_5m=60, write_1h=40)
    blocks = [FreedBlock(1, 0, 30), FreedBlock(5, 150, 50), FreedBlock(9, 205, 4)]
    assert smaller(usage, blocks) == Usage(fresh=6, cache_read=70, write_5m=30, write_1h=20)
    assert smaller(usage, [FreedBlock(1, 0, 500)]).cache_read == 0
