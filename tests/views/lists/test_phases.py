"""What the rule over phases says of them."""

from __future__ import annotations

from ctxtui.analysis.growth.phases import Phase
from ctxtui.views.lists import phases
from ctxtui.views.text.span import plain


def _phase(number: int, growth: int) -> Phase:
    return Phase("", number, number, before=20_000, end=20_000 + growth, peak=20_000, sent=1_000, answered=0, usd=None)


def test_of_two_phases_none_is_typical() -> None:
    one, two, three, four = (_phase(n, growth) for n, growth in enumerate((9_000, 500, 700, -1_900), 1))
    assert phases.summary([one]) == []
    assert plain(phases.summary([one, four])) == "2.0k sent in all", (
        "neither the first nor the one under way is typical"
    )
    assert "median" not in phases.explain_summary([one, four])
    assert plain(phases.summary([one, two, four])).startswith("~500 a phase, ~500 a call; 3.0k sent in all")
    assert plain(phases.summary([one, two, three, four])).startswith("~600 a phase")
    assert "median" in phases.explain_summary([one, two, four])
