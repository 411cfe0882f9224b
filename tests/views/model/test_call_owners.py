"""A call counts once, as its fullest report has it, whoever comes first."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxtui.views.model.call_owners import CallOwners, CallSums, sessions_with_owned_calls
from ctxtui.views.model.session_summary import CallSpent, SessionSummary

NAMES = "abcd"
REPORTS = {
    "none": CallSpent("", 0),
    "part": CallSpent("", 90, 80, 0, 0.5, partial=True),
    "unpriced": CallSpent("", 100, 80, 10),
    "whole": CallSpent("", 100, 80, 10, 1.0),
    "copied": CallSpent("", 0, copied=True),
}
RANK = list(REPORTS)[:4]
CALLS = st.dictionaries(st.sampled_from(NAMES), st.sampled_from(list(REPORTS)))


def spent(calls: dict[str, str]) -> tuple[CallSpent, ...]:
    return tuple(REPORTS[report]._replace(id=name) for name, report in calls.items())


def expected(sessions: list[dict[str, str]]) -> tuple[float, ...]:
    """Calls, tokens and USD of the fullest report of each call, one after the other."""
    found = {}
    for name in NAMES:
        known = [RANK.index(calls[name]) for calls in sessions if calls.get(name, "copied") != "copied"]
        if known:
            found[name] = REPORTS[RANK[max(known)]]
    return len(found), sum(one.tokens for one in found.values()), sum(one.cost or 0.0 for one in found.values())


def sums(found: CallSums) -> tuple[float, ...]:
    return found.calls, found.tokens, found.usd


@given(st.lists(st.tuples(st.sampled_from("xyz"), st.none() | CALLS), max_size=10), st.sets(st.sampled_from("xyz")))
def test_the_fullest_report_counts_whatever_came_and_went(
    steps: list[tuple[str, dict[str, str] | None]], some: set[str]
) -> None:
    owners, now = CallOwners(), dict[str, dict[str, str]]()
    for key, calls in steps:
        if calls is None:
            owners.drop(key)
            now.pop(key, None)
        else:
            owners.put(key, spent(calls))
            now[key] = calls
    assert sums(owners.total) == pytest.approx(expected(list(now.values())))
    assert sums(owners.sums_of(some)) == pytest.approx(expected([calls for key, calls in now.items() if key in some]))
    own = [call for key, calls in now.items() for call in owners.owned_calls(key, spent(calls))]
    assert sum(call.tokens for call in own) == owners.total.tokens and len(own) == owners.total.calls


@given(st.lists(CALLS, max_size=4))
def test_once_gives_each_call_to_one_session(sessions: list[dict[str, str]]) -> None:
    found = [
        call
        for _, own in sessions_with_owned_calls(SessionSummary(key="k", spent=spent(one)) for one in sessions)
        for call in own
    ]
    assert (len(found), sum(call.tokens for call in found)) == expected(sessions)[:2]
    assert not any(call.copied for call in found)


def test_of_two_equal_copies_the_first_one_counts() -> None:
    first, second = (SessionSummary(key=key, spent=spent({"a": "whole"})) for key in "xy")
    assert [(one.key, len(own)) for one, own in sessions_with_owned_calls([first, second])] == [("x", 1), ("y", 0)]
