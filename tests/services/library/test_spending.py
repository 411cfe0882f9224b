"""Spending from summaries: nothing is lost that the totals over sessions have."""

from __future__ import annotations

import pytest

from ctxtui.analysis.money.spending import OUTPUT, UNKNOWN, SpendingRow, mark_lower_bounds, sum_rows
from ctxtui.services.library.totals.spending import (
    CATEGORY,
    TOOL,
    session_totals_of,
    spending_rows,
    total_sessions,
    with_sums,
)
from ctxtui.views.home.columns import HomeRow, home_columns
from ctxtui.views.model.session_summary import CallSpent, SessionSummary

CALL = CallSpent("a", 100, 90, cost=1.0)
SUM = CallSpent("s", 50, 40, cost=0.5, side="~x", calls=0)
"""A thread that is only a sum over an unknown number of calls."""


def summary(*spent: CallSpent, **members: object) -> SessionSummary:
    return with_sums(SessionSummary(key="k", known=True, calls=1, spent=spent, **members))  # type: ignore[arg-type]


def test_a_sum_of_no_known_number_of_calls_is_in_the_totals_of_its_session() -> None:
    session = summary(CALL, SUM)
    totals = session_totals_of(session)
    assert totals == total_sessions([session])
    assert (totals.others.tokens, totals.others.usd) == (50, 0.5)
    assert (totals.total.tokens, totals.total.usd) == (session.total_tokens, session.known_usd)


def test_home_explains_the_cost_of_such_a_sum() -> None:
    session = summary(CALL, SUM)
    (cost,) = [column for column in home_columns() if column.field == "cost_usd"]
    assert cost.sum is not None
    assert "$0.500 in subagents and other requests" in cost.sum(HomeRow(session))


@pytest.mark.parametrize("by", [CATEGORY, TOOL])
@pytest.mark.parametrize("shares", [(), (("tools", 5.0),), (("tools", 4.0), (OUTPUT, 1.0))])
def test_rows_say_that_they_are_lower_bounds(by: str, shares: tuple[tuple[str, float], ...]) -> None:
    calls = CALL._replace(cost=5.0, partial=True), CALL._replace(id="b", cost=None, unpriced=True)
    rows = spending_rows([summary(*calls, by_category=shares, by_tool=shares)], by)
    assert {r.name: (r.unpriced, r.partial) for r in rows if r.at_least} == {OUTPUT: (0, 1), UNKNOWN: (1, 0)}
    assert sum_rows(rows).usd == (sum(usd for _, usd in shares) if shares else None)


def test_rows_of_complete_calls_are_no_lower_bounds() -> None:
    row = SpendingRow("Bash", 0.5)
    assert mark_lower_bounds([row], 0, 0) == [row]
