"""Phases: what begins one, what it adds, and two systems' growth as their authors measured it."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from ctxtui.analysis.growth.phases import (
    CALL,
    EPOCH,
    TURN,
    Phase,
    Start,
    build_phases,
    find_starts,
    merge_starts,
    named_starts,
    typical_growth,
)
from ctxtui.analysis.money.spending import SpendingRow
from ctxtui.core.call import Call, Epoch, EpochStart
from ctxtui.core.session import MAIN, Session
from tests.cases.growing import evolution, rounds
from tests.cases.sessions import Story


def table(session: Session, rule: str) -> list[Phase]:
    calls = session.thread_calls(MAIN)

    def search(text: str) -> str:
        found = re.search(rule, text)
        return found[0] if found else ""

    return build_phases(
        calls,
        find_starts(session.tree, calls, rule, search),
        reported,
        lambda call: (SpendingRow("", 0.5, calls=1), True),
    )


def reported(call: Call) -> int:
    return call.usage.input if call.usage else 0


def test_a_search_that_never_prunes_grows_by_40k_a_generation() -> None:
    rows = table(evolution(), r"Feedback of generation \d+")
    assert [row.name for row in rows] == ["", *(f"Feedback of generation {n}" for n in range(5))]
    # What was measured after each feedback: 25k, 64k, 102k, 150k, 191k.
    calls = evolution().thread_calls(MAIN)
    ends = [reported(calls[row.first - 1]) for row in rows[1:]]
    assert [round(end / 1000) for end in ends] == [25, 64, 102, 150, 191]
    grown, _ = typical_growth(rows)
    assert 38_000 <= grown <= 43_000
    assert ends[-1] + 5 * grown > 380_000 and ends[-1] < 200_000 < ends[-1] + grown


def test_a_loop_over_tools_grows_by_424_tokens_a_round_and_sends_their_square() -> None:
    count = 100
    rows = table(rounds(count), CALL)
    assert typical_growth(rows) == (424, 424) and {row.growth for row in rows[1:]} == {424}
    assert [row.end for row in rows[:5]] == [7_328, 7_752, 8_176, 8_600, 9_024]
    assert abs(rows[-1].end - 50_000) < 1_000
    assert sum(row.sent for row in rows) == count * 7_328 + 424 * count * (count - 1) // 2
    twice = sum(row.sent for row in table(rounds(2 * count), CALL))
    assert 3.0 < twice / sum(row.sent for row in rows) < 4.0
    memory = table(rounds(5, first=1_984), CALL)
    assert [row.end for row in memory] == [1_984, 2_408, 2_832, 3_256, 3_680]


def test_phases_by_turn_and_epoch() -> None:
    story = Story().user("one").call("a").user("two").call("b").results(("x", "y")).call("c")
    story.epoch = Epoch(2, EpochStart.COMPACTION)
    story.user("three").call("d")
    tree, calls = story.session.tree, story.session.thread_calls()
    assert find_starts(tree, calls, TURN) == [Start(1, "turn 1"), Start(2, "turn 2"), Start(4, "turn 3")]
    assert find_starts(tree, calls, EPOCH) == [Start(1, "epoch 1"), Start(4, "epoch 2")]
    assert find_starts(tree, calls, "never", lambda text: "") == []


def test_a_users_name_goes_before_a_rules() -> None:
    calls = rounds(5).thread_calls(MAIN)
    own = named_starts(calls, {"c3": "Phase: tidying up", "c4": "a remark", "c5": "phase:"})
    assert own == [Start(3, "tidying up", True), Start(5, "from call 5", True)]
    both = merge_starts([Start(1, "x"), Start(3, "y")], own)
    assert both == [Start(1, "x"), Start(3, "tidying up", True), Start(5, "from call 5", True)]


CHEAP, DEAR = SpendingRow("", 1.0, calls=1), SpendingRow("", tokens=9, calls=1, unpriced=1)


@given(st.sets(st.integers(2, 12)), st.lists(st.integers(0, 9_999), min_size=12, max_size=12))
def test_phases_cover_the_calls_and_their_growth_adds_up(cuts: set[int], sizes: list[int]) -> None:
    calls = rounds(12).thread_calls(MAIN)
    by_id = {call.id: size for call, size in zip(calls, sizes, strict=True)}
    begun = [Start(n, f"p{n}") for n in sorted(cuts)]
    rows = build_phases(
        calls, begun, lambda call: by_id[call.id], lambda call: (DEAR if call.id == "c1" else CHEAP, call.id != "c1")
    )
    assert [row.first for row in rows] == [1, *sorted(cuts)]
    assert sum(row.calls for row in rows) == 12 and sum(row.growth for row in rows) == sizes[-1]
    assert sum(row.sent for row in rows) == sum(sizes) and max(row.peak for row in rows) == max(sizes)
    assert rows[0].usd is None and not rows[0].priced and all(row.usd == row.calls for row in rows[1:])
    assert build_phases([], begun, lambda call: 0, lambda call: (SpendingRow(""), True)) == []
