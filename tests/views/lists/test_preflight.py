"""The preflight report's lines on the edits that make room."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from ctxtui.analysis.context_window import ContextWindow
from ctxtui.analysis.growth.projection import Limit, Outlook, Preflight
from ctxtui.analysis.growth.units_ahead import Range
from ctxtui.curation.policies.risk import Risk
from ctxtui.curation.price.advice import Smallest
from ctxtui.views.lists import preflight
from ctxtui.views.text.span import plain

GROWTH = Range(1_000.0, 20_000.0, 30_000.0)


def make_report(growth: int, *, partial: int = 0) -> Preflight:
    """A context of 100k tokens that ten turns let grow by `growth`; 150k are usable."""
    after = Range(101_000.0, 100_000.0 + growth, 100_000.0 + 2 * growth)
    return Preflight(
        outlook=Outlook(
            context=100_000, turns=5, ahead=10, growth=GROWTH, calls=None, output=None, rewrites=0.0, after=after,
            usd=None,
        ),
        window=ContextWindow(200_000, 150_000, "model", 200_000, 200_000),
        usable=Limit(150_000, "setting", (1, 2, 3)),
        compaction=None,
        replaced={},
        instructions=(),
        partial=partial,
    )  # fmt: skip


SMALLEST = Smallest(
    kinds={"truncate": 3},
    risk=Risk.PARTS,
    before=100_000,
    after=37_500,
    target=37_500,
    moment="now",
    once=0.5,
    per_call=-0.25,
    quoted=0,
)


def fix_text(smallest: Smallest, growth: int, place: str = "") -> str:
    return "\n".join(plain(line) for line in preflight.fix_lines(smallest, make_report(growth), "a session", place))


def test_the_context_after_the_turns_is_compared_with_the_usable_window() -> None:
    assert "100.0k → 37.5k, about 137.5k after 10 turns: within the usable 150.0k" in fix_text(SMALLEST, 100_000)
    # The target is reached, but it is a quarter of the usable window at least.
    assert "about 237.5k after 10 turns: still more than the usable 150.0k" in fix_text(SMALLEST, 200_000)
    # The target is missed, and there is room for the turns nevertheless.
    missed = replace(SMALLEST, after=70_000)
    assert "100.0k → 70.0k, about 130.0k after 10 turns: within the usable 150.0k" in fix_text(missed, 60_000)


def test_quoted_literals_and_an_unknown_price_are_named() -> None:
    text = fix_text(SMALLEST, 100_000)
    assert "  now +$0.500 once, −$0.250 a call\n" in text
    unpriced = replace(SMALLEST, moment="", once=None, per_call=None)
    assert "  no price is known; 1 removed literal is quoted later\n" in fix_text(replace(unpriced, quoted=1), 100_000)
    assert "; 2 removed literals are quoted later\n" in fix_text(replace(unpriced, quoted=2), 100_000)
    for half in (replace(SMALLEST, once=None), replace(SMALLEST, per_call=None)):
        assert "  no price is known\n" in fix_text(half, 100_000)


@pytest.mark.parametrize(
    ("turns", "text"),
    [
        ((0, 2, 3), "passed already"),
        ((None, None, None), "not at this pace"),
        ((2, None, None), "not at the usual pace, in 2 turns at the soonest"),
        ((1, 1, 1), "in 1 turn"),
        ((1, 2, 3), "in 2 turns (1 to 3)"),
        ((1, 2, None), "in 2 turns (1 to never)"),
    ],
)
def test_a_limit_is_reached_now_later_or_not_at_this_pace(turns: tuple[int | None, ...], text: str) -> None:
    soon, mid, late = turns
    assert preflight.describe_limit(Limit(150_000, "setting", (soon, mid, late)), "turn") == text


@pytest.mark.parametrize(
    ("calls", "text"),
    [
        (None, "tokens (+1.0k to +30.0k)"),
        (Range(0.2, 3.4, 9.0), "tokens (+1.0k to +30.0k), 3 calls (1 to 9)"),
        (Range(0.8, 1.0, 1.4), "tokens (+1.0k to +30.0k), 1 call"),
    ],
)
def test_the_calls_of_a_turn_are_a_range_if_they_vary(calls: Range | None, text: str) -> None:
    report = make_report(100_000)
    lines = [plain(line) for line in preflight.lines(replace(report, outlook=replace(report.outlook, calls=calls)))]
    assert any(line.endswith(text) for line in lines), lines


def test_the_command_names_the_thread() -> None:
    command = "ctxtui curate 'a session' --thread t --after --policy budget --set target=37500"
    assert fix_text(SMALLEST, 100_000, " --thread t").endswith(command)


def test_an_end_that_is_unknown_is_not_named() -> None:
    report = make_report(100_000)
    for unknown in (replace(report, usable=None), replace(report, outlook=replace(report.outlook, after=None))):
        lines = [plain(line) for line in preflight.fix_lines(SMALLEST, unknown, "a session", "")]
        assert "  context 100.0k → 37.5k" in lines


def test_with_room_for_the_turns_there_is_nothing_to_mend() -> None:
    assert list(preflight.fix_lines(None, make_report(0), "a session", "")) == []


def test_without_edits_the_reason_is_not_guessed() -> None:
    assert (
        fix_text(replace(SMALLEST, kinds={}), 100_000).strip()
        == "The policy budget found no edit that would make room."
    )


def test_a_single_answer_reported_in_part_is_one() -> None:
    text = "\n".join(plain(line) for line in preflight.lines(make_report(1_000, partial=1)))
    assert "at least: 1 answer is only partly reported" in text
