"""What staged edits would have saved in the calls that followed, held against the price tag's own figures."""

from __future__ import annotations

import pytest

from ctxtui.core.call import Call
from ctxtui.core.usage import Usage
from ctxtui.curation.price.rest_of_session import FirstRead, FreedBlock, LaterCall, rest_of_session, smaller

READ, WRITE, FRESH = 0.1, 1.25, 1.0


def charge(usage: Usage, later: LaterCall) -> float | None:
    return usage.cache_read * READ + usage.cache_write * WRITE + usage.fresh * FRESH


def test_calls_that_only_go_on_cost_what_the_tag_says_once_and_per_call() -> None:
    freed = (FreedBlock(at=20, before=10_000, tokens=3_000), FreedBlock(at=40, before=20_000, tokens=1_000))
    calls = [LaterCall(Usage(cache_read=50_000 + 100 * n, write_5m=100, fresh=5), float(n), freed) for n in range(10)]
    # What it read is 50,000; under the edits 9,000 are left, and what else of it still stands is written again.
    lost = 50_000 - 4_000 - 9_000
    once, per_call = lost * (WRITE - READ) - 4_000 * READ, -4_000 * READ
    found = rest_of_session(calls, FirstRead(9_000, "write_5m"), charge)
    assert found.saved == (4_000,) * 10 and not found.partial and found.calls == found.holding == 10
    assert found.usd == pytest.approx(once + 9 * per_call)


def test_a_first_call_that_read_less_loses_less() -> None:
    """As where its client wrote some of it anew by itself."""
    freed = (FreedBlock(at=20, before=10_000, tokens=3_000),)
    [alone] = [LaterCall(Usage(cache_read=20_000, fresh=25_000), 0.0, freed)]
    found = rest_of_session([alone], FirstRead(9_000), charge)
    assert found.usd == pytest.approx((20_000 - 3_000 - 9_000) * (FRESH - READ) - 3_000 * READ)
    before = alone._replace(usage=Usage(cache_read=9_500, fresh=35_500))
    found = rest_of_session([before], FirstRead(9_000), charge)
    assert found.usd == pytest.approx(-3_000 * FRESH), "what it read ends before the edits"


def test_a_miss_and_a_compaction_are_charged_for_what_they_were() -> None:
    freed = (FreedBlock(at=20, before=10_000, tokens=3_000),)
    calls = [
        LaterCall(Usage(cache_read=0, write_5m=50_000), 0.0, freed),
        LaterCall(Usage(cache_read=5_000, write_5m=45_000), 1.0, freed),
        LaterCall(None, 2.0, freed),
        LaterCall(Usage(cache_read=9_000), 3.0, ()),
    ]
    left = FirstRead(9_000, "write_5m")
    found = rest_of_session(calls, left, charge)
    assert found.saved == (3_000, 3_000, 3_000, 0)
    assert found.usd == pytest.approx(2 * -3_000 * WRITE) and found.partial and found.holding == 3
    assert rest_of_session(calls, left, None).usd is None
    half = rest_of_session(calls, None, charge, 0.5)
    assert half.saved == found.saved and half.usd == pytest.approx(-1_500 * 2 * WRITE), "one is charged for two"


def test_each_call_is_charged_by_its_own_terms() -> None:
    freed = (FreedBlock(at=20, before=10_000, tokens=3_000),)
    calls = [
        LaterCall(Usage(cache_read=50_000), float(n), freed, Call(id=str(n), thread="main", model=model))
        for n, model in enumerate(("large", "small"))
    ]

    def by_model(usage: Usage, later: LaterCall) -> float | None:
        assert later.call is not None
        return usage.cache_read * {"large": 1.0, "small": 0.2}[later.call.model]

    assert rest_of_session(calls, None, by_model).usd == pytest.approx(-3_000 * 1.2)


def test_tokens_go_from_where_they_stood_and_lifetimes_keep_their_shares() -> None:
    usage = Usage(fresh=10, cache_read=100, write_5m=60, write_1h=40)
    blocks = [FreedBlock(1, 0, 30), FreedBlock(5, 150, 50), FreedBlock(9, 205, 4)]
    assert smaller(usage, blocks) == Usage(fresh=6, cache_read=70, write_5m=30, write_1h=20)
    assert smaller(usage, [FreedBlock(1, 0, 500)]).cache_read == 0
