"""Agreement: what counts as the same next step, and the intervals of shares."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxtui.analysis.content.agreement import (
    ALIKE,
    BETTER,
    UNCHANGED,
    WORSE,
    NextStep,
    ToolCall,
    Trial,
    compare_variants,
    extract_step,
    spread_evenly,
    wilson_interval,
)
from ctxtui.core import block as blocks
from ctxtui.core.block import Item, Place

READ = NextStep((ToolCall("Read", '{"path":"a"}'),))
OTHER = NextStep((ToolCall("Read", '{"path":"b"}'),))
REST = NextStep((), "done")


def trials(variant: str, got: list[NextStep | None]) -> list[Trial]:
    return [Trial(variant=variant, number=n, recorded=READ, new=one) for n, one in enumerate(got, 1)]


def test_the_order_of_arguments_does_not_matter_their_values_do() -> None:
    place = Place("messages", "assistant")

    def step(**given: object) -> NextStep:
        return extract_step(
            [Item(blocks.from_part({"type": "tool_use", "id": "x", "name": "Read", "input": given}), place)]
        )

    assert step(a=1, b={"c": 2, "d": 3}) == step(b={"d": 3, "c": 2}, a=1) and step(a=1).tools == ("Read",)
    assert step(a=1).calls != step(a=2).calls and step(a=1).tools == step(a=2).tools
    assert REST.tools == NextStep((), "something else").tools != READ.tools


def test_arguments_may_be_nested_deeply() -> None:
    text = '{"a":' * 900 + "1" + "}" * 900
    part = blocks.from_part({"type": "function_call", "name": "f", "call_id": "x", "arguments": text})
    assert extract_step([Item(part, Place("messages", "assistant"))]).tools == ("f",)


def test_wilson_is_wilson() -> None:
    assert wilson_interval(0, 0) == (0, 0, 0.0, 1.0)
    found = wilson_interval(8, 10)
    # Wilson's bounds: the shares of which 8 of 10 is 1.645 standard errors away.
    for bound in (found.low, found.high):
        assert abs(0.8 - bound) == pytest.approx(1.644854 * (bound * (1 - bound) / 10) ** 0.5, abs=1e-6)
    assert found.low < 0.8 < found.high


@given(st.integers(1, 200), st.data())
def test_an_interval_holds_its_share_and_shrinks(of: int, data: st.DataObject) -> None:
    hits = data.draw(st.integers(0, of))
    one, more = wilson_interval(hits, of), wilson_interval(4 * hits, 4 * of)
    assert 0 <= one.low <= hits / of <= one.high <= 1
    assert more.high - more.low < one.high - one.low


def test_a_variant_is_told_apart_from_noise_only_where_intervals_part() -> None:
    floor = trials(UNCHANGED, [READ] * 20)
    worse, alike = trials("w", [REST] * 20), trials("a", [READ] * 18 + [REST] * 2)
    found = {one.variant: one for one in compare_variants([*floor, *worse, *alike])}
    assert found["w"].verdict == WORSE and found["w"].lost == tuple(range(1, 21))
    assert found["a"].verdict == ALIKE and found["a"].lost == (19, 20)
    noisy = [*trials(UNCHANGED, [REST] * 20), *trials("b", [READ] * 20)]
    better = compare_variants(noisy)[1]
    assert better.verdict == BETTER and better.won == tuple(range(1, 21))


def test_arguments_count_apart_and_what_failed_counts_nowhere() -> None:
    (one,) = compare_variants(trials(UNCHANGED, [READ, OTHER, None]))
    assert (one.tools.hits, one.tools.cases, one.calls.hits, one.failed) == (2, 2, 1, 1)


def test_calls_are_spread_evenly_and_the_same_each_time() -> None:
    assert spread_evenly(range(1, 101), 4) == [25, 50, 75, 100] == spread_evenly(range(1, 101), 4)
    assert spread_evenly([3, 9], 5) == [3, 9] and spread_evenly([], 3) == []
