"""Policies in the order of what they free; those that free nothing are not offered."""

from __future__ import annotations

from msgspec.structs import replace

from ctxtui.core.edit import make
from ctxtui.curation.policies.risk import Risk
from ctxtui.views.lists.policies import TABLE, Proposed, explain_notes, explain_payback, sort_policies
from ctxtui.views.text.span import plain


def test_what_frees_most_comes_first_and_nothing_is_offered_that_gains_nothing() -> None:
    edits = (make("compact_json", [], {}),)
    rows = [
        Proposed("compact_json", "", edits=edits, freed=0, per_call=0.0),
        Proposed("idle", "", freed=0),
        Proposed("small", "", edits=edits, freed=10),
        Proposed("stands", "", freed=0, active_ids=("a",)),
        Proposed("large", "", edits=edits, freed=900),
        Proposed("refused", "", why="no"),
    ]
    assert [row.name for row in sort_policies(rows)] == ["large", "small", "stands", "compact_json", "idle", "refused"]
    assert not rows[0].has_gain and replace(rows[0], per_call=-0.1).has_gain
    waiting = [*rows, Proposed("working", "")]
    assert sort_policies(waiting) == waiting, "nothing jumps while they are worked out"


def test_the_words_of_a_risk_are_whole_at_80_cells_and_at_120() -> None:
    for risk in Risk:
        row = Proposed("truncate_results", "", edits=(make("compact_json", [], {}),), freed=900, risk=risk)
        assert plain(TABLE.draw(row, 78)).rstrip().endswith(f"  {risk.short}")
        assert plain(TABLE.draw(row, 120)).rstrip().endswith(f"  {risk.description}")


def test_a_price_that_nobody_knows_is_not_one_that_is_still_worked_out() -> None:
    row = Proposed("truncate_results", "", edits=(make("compact_json", [], {}),), freed=900)
    for room in (78, 120):
        drawn = plain(TABLE.draw(row, room)).split()
        assert drawn.count("unknown") == 2 and "–" in drawn
        assert "·" not in drawn or room == 120  # the share of a window that is not known


def test_the_sum_of_the_policies_holds_and_waits_until_all_are_computed() -> None:
    edits = (make("compact_json", [], {}),)
    rows = [
        Proposed("a", "", edits=edits, freed=9),
        Proposed("b", "", edits=edits, freed=9, why="no"),
        Proposed("c", "", freed=0),
    ]
    assert explain_notes(rows) == "3 policies = 1 with a gain + 1 refused + 1 without a gain."
    assert explain_notes([*rows, Proposed("d", "")]) == ""
    assert (
        explain_payback(0.5, -0.5, 1, "now")
        == "now: +$0.500 once and −$0.500 for each call after it: pays back after 1 call."
    )
