"""Stats over sessions: every call once, rows that add up to the total, and what a change did with its interval."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ctxtui.analysis.money.usage_stats import UsageSums
from ctxtui.core.errors import CtxtuiError
from ctxtui.core.usage import QuotaReport
from ctxtui.services.config.settings import Settings
from ctxtui.services.library.totals.client_quotas import read_reports, store_reports
from ctxtui.services.library.totals.spending import TOOL, total_sessions
from ctxtui.services.library.totals.stat_changes import TAG, VERSION, Change, compare, find_changes, parse_change
from ctxtui.services.library.totals.stats import WAYS, make_stats
from ctxtui.transcripts.kit.quota import read_quota_headers, read_rate_limits
from ctxtui.views.lists.costs import stats as view
from ctxtui.views.model.session_summary import COMPACTED, MISSED, OVER, CallSpent, SessionSummary
from tests.views.glossary.arithmetic_law import broken

DAY = 86_400
AT = 400.0 * DAY
SUMS = {"k": 0, "l": 5}
"""Sums among the calls: of none that is told, and of five."""

MARKS = st.lists(st.sampled_from([MISSED, COMPACTED, OVER]), unique=True).map("".join)
CALLS = st.lists(
    st.builds(
        CallSpent,
        id=st.sampled_from("abcdefghijkl"),
        tokens=st.integers(100, 200),
        input=st.integers(0, 100),
        read=st.just(0),
        cost=st.none() | st.floats(0.0, 5.0),
        model=st.sampled_from([-1, 0]),
        started=st.integers(0, 400 * DAY),
        marks=MARKS,
        lost=st.none() | st.floats(0.0, 1.0),
        skill=st.sampled_from(["", "review"]),
        calls=st.just(1),
    ).map(lambda call: call._replace(calls=SUMS.get(call.id, 1))),
    max_size=8,
    unique_by=lambda call: call.id,
).map(tuple)
SESSIONS = st.lists(
    st.builds(
        lambda **members: SessionSummary(**members),
        key=st.sampled_from("xyz"),
        source=st.sampled_from(["codex", ""]),
        client_version=st.sampled_from(["", "2.1.9", "2.1.10"]),
        cwd=st.sampled_from(["", "/w"]),
        mtime=st.floats(0, AT),
        known=st.just(True),
        models=st.just((("m", 1),)),
        spent=CALLS,
        policies=st.sampled_from([(), ("budget",), ("budget", "by hand")]),
        compressors=st.sampled_from([(), ("codex",), ("codex", "claude code auto")]),
        usage_only=st.booleans(),
    ),
    max_size=6,
)


@given(SESSIONS, st.sampled_from([way for way in WAYS if way != TOOL]))
def test_rows_add_up_to_the_whole_and_every_call_counts_once(sessions: list[SessionSummary], by: str) -> None:
    found = make_stats(sessions, AT, by=by)
    for field in ("calls", "input", "read", "output", "unpriced", "misses", "compactions", "overflows"):
        assert sum(getattr(row, field) for row in found.rows) == getattr(found.total, field), field
    for field in ("usd", "lost"):
        assert sum(getattr(row, field) or 0.0 for row in found.rows) == pytest.approx(getattr(found.total, field) or 0)
    # As Home and `cost` have it.
    total = total_sessions(sessions).total
    assert (total.calls, total.tokens, total.unpriced) == (found.total.calls, found.total.tokens, found.total.unpriced)
    assert (total.usd is None) == (found.total.usd is None)
    assert (total.usd or 0.0) == pytest.approx(found.total.usd or 0.0)
    ids = {call.id for one in sessions for call in one.spent if not call.copied}
    assert found.total.calls == sum(SUMS.get(id_, 1) for id_ in ids)


def session(
    key: str, *costs: float, version: str = "2.1.9", day: int = 1, tags: tuple[str, ...] = ()
) -> SessionSummary:
    spent = tuple(CallSpent(f"{key}{n}", 110, 100, 90, cost, started=day * DAY + n) for n, cost in enumerate(costs))
    return SessionSummary(key=key, known=True, spent=spent, client_version=version, tags=tags, mtime=day * DAY)


OLD = [session(f"o{n}", 1.0, 1.0 + n / 10) for n in range(5)]
NEW = [session(f"n{n}", 0.5, 0.5 + n / 10, version="2.1.10", day=9, tags=("small",)) for n in range(5)]


@pytest.mark.parametrize(
    "changed",
    [
        Change("2.1.10", VERSION, "2.1.10"),
        Change("tag=small", TAG, "small"),
        Change("day 9", "", "", 9.0 * DAY),
    ],
    ids=["version", "tag", "date"],
)
def test_a_change_is_shown_with_its_interval(changed: Change) -> None:
    found = make_stats([*OLD, *NEW], AT, changed=changed).comparison
    assert found is not None and (found.before.sessions, found.after.sessions) == (5, 5)
    cost, read = (next(one for one in found.metrics if one.name == name) for name in ("cost of a call", "cache read"))
    assert cost.difference is not None and cost.difference.value == pytest.approx(-0.5)
    assert cost.shown and cost.difference.high is not None and cost.difference.high < 0
    assert not read.shown, "it is the same on either side"


def test_another_clients_versions_are_on_no_side() -> None:
    codex = [replace(session(f"c{n}", 9.0, version="0.169.0"), source="codex") for n in range(4)]
    claude = [replace(one, source="claude code") for one in [*OLD, *NEW]]
    unversioned = [session(f"u{n}", 3.0, version="") for n in range(3)]
    every = [*codex, *claude, *unversioned]
    for words in ("client-version=2.1.10", "client-version=claude code 2.1.10"):
        found = make_stats(every, AT, changed=parse_change(words)).comparison
        assert found is not None and (found.before.sessions, found.after.sessions) == (5, 5), words


def test_a_policy_is_held_against_sessions_of_its_client_without_it() -> None:
    with_it = [replace(one, source="codex", policies=("budget",)) for one in NEW]
    without = [replace(one, source="codex") for one in OLD]
    other = [replace(session(f"x{n}", 9.0), source="pi") for n in range(4)]
    unknown = [replace(session(f"u{n}", 9.0), source="codex", usage_only=True) for n in range(4)]
    every = [*with_it, *without, *other, *unknown]
    found = make_stats(every, AT, changed=parse_change("policy=budget")).comparison
    assert found is not None and (found.before.sessions, found.after.sessions) == (5, 5)
    assert not found.before.uncounted


def test_a_compressor_is_held_against_other_compressors_and_policies() -> None:
    auto = [replace(one, compressors=("claude code auto",)) for one in OLD]
    policy = [replace(one, policies=("summarize_at",)) for one in NEW[:2]]
    manual = [replace(one, compressors=("claude code manual",)) for one in NEW[2:]]
    short = [session(f"s{n}", 0.01) for n in range(5)]
    every = [*auto, *policy, *manual, *short]
    found = make_stats(every, AT, changed=parse_change("compressor=claude code auto")).comparison
    assert found is not None and (found.before.sessions, found.after.sessions) == (5, 5)
    told = {one.words for one in make_stats(every, AT, list_changes=True).changes}
    assert {"compressor=claude code auto", "compressor=claude code manual", "policy=summarize_at"} <= told


@given(SESSIONS.map(lambda every: [replace(one, tags=("a",) if n % 2 else ()) for n, one in enumerate(every)]))
def test_the_changes_that_are_listed_are_those_that_can_be_compared(sessions: list[SessionSummary]) -> None:
    for one in make_stats(sessions, AT, list_changes=True).changes:
        found = make_stats(sessions, AT, changed=parse_change(one.words)).comparison
        assert found is not None
        sides = found.before.sessions, found.before.calls, found.after.sessions, found.after.calls
        assert sides == (one.before, one.calls_before, one.after, one.calls_after), one
        assert one.before and one.after
    told = make_stats([*OLD, *NEW], AT, list_changes=True).changes
    assert [one.words for one in told] == ["client-version=2.1.10", "tag=small"]


@pytest.mark.parametrize("words", ["", "yesterday", "tag=", "client-version=", "client-version=latest", "policy="])
def test_what_is_no_change_says_what_is(words: str) -> None:
    with pytest.raises(CtxtuiError, match="is not a change; a day or time such as 2026-11-20"):
        parse_change(words)


def test_no_difference_is_claimed_where_chance_explains_it() -> None:
    mixed = [session(f"m{n}", 0.1 + (n * 7 % 5)) for n in range(12)]
    later = [replace(one, client_version="3") for one in mixed[::2]]
    found = make_stats([*mixed[1::2], *later], AT, changed=Change("3", VERSION, "3")).comparison
    assert found is not None and not any(one.shown for one in found.metrics)


@pytest.mark.parametrize("reported", [True, False])
def test_a_cost_or_size_that_is_not_known_counts_nowhere(reported: bool) -> None:
    """Sessions without a price, or without any report, are no cheap ones, and add no certainty."""
    usage: dict[str, Any] = (
        {"tokens": 110, "input": 100, "unpriced": True} if reported else {"tokens": 0, "input": 0, "read": 0}
    )
    unknown = [
        replace(one, spent=tuple(call._replace(cost=None, **usage) for call in one.spent))
        for one in (session(f"u{n}", 1.0, 1.0, tags=("small",)) for n in range(4))
    ]
    # A session that is priced in part has no known cost either.
    part = [replace(one, spent=(*one.spent, unknown[0].spent[0]._replace(id="p"))) for one in NEW[:1]] * reported
    for after, known in ((unknown, 0), ([*unknown, *part, *NEW[1:2]], 1)):
        found = make_stats([*OLD, *after], AT, changed=Change("tag=small", TAG, "small")).comparison
        assert found is not None and found.after.sessions == len(after)
        metrics = {one.name: one for one in found.metrics}
        names = ["cost of a session", *([] if reported else ["cost of a call", "input of a call", "output of a call"])]
        for name in names:
            estimate = metrics[name].after
            assert (estimate is not None) == bool(known), name
            assert not metrics[name].shown, name
        if known:
            assert metrics["cost of a session"].after == (pytest.approx(1.1), None, None, None)


def test_only_calls_since_a_time_count() -> None:
    found = make_stats([*OLD, *NEW], AT, since=5.0 * DAY)
    assert (found.total.sessions, found.total.calls) == (5, 10)


def test_the_worst_misses_are_named_by_session_and_call() -> None:
    spent = (CallSpent("a", 1, marks=MISSED, lost=0.5), CallSpent("b", 1), CallSpent("c", 1, marks=MISSED, lost=2.0))
    found = make_stats([SessionSummary(key="one", title="t", known=True, spent=spent)], AT).worst
    assert [(miss.key, miss.call, miss.lost) for miss in found] == [("one", 3, 2.0), ("one", 1, 0.5)]


def test_a_call_that_a_session_holds_twice_is_one_of_the_worst_misses_once() -> None:
    spent = (CallSpent("a", 1, marks=MISSED, lost=0.5), CallSpent("a", 1, marks=MISSED, lost=0.5))
    found = make_stats([SessionSummary(key="one", title="t", known=True, spent=spent)], AT)
    assert [miss.call for miss in found.worst] == [1] and found.total.lost == 0.5


@given(SESSIONS)
def test_the_sum_behind_each_figure_holds(sessions: list[SessionSummary]) -> None:
    found = make_stats(sessions, AT, by="model")
    shown = [column.sum for column in view.table("model").columns if column.sum is not None]
    rows: list[UsageSums] = [*found.rows, found.total]
    assert [claim for row in rows for tell in shown for claim in broken(tell(row))] == []


def test_sessions_without_a_version_are_a_row_of_their_client() -> None:
    every = [replace(session(f"u{n}", 1.0, version=""), source=source) for n, source in enumerate(["pi", "codex", ""])]
    rows = make_stats([*every, replace(session("v", 1.0, version="0.9"), source="pi")], AT, by=VERSION).rows
    assert sorted(row.name for row in rows) == ["codex, no version", "pi 0.9", "pi, no version", "unknown"]


HOUR = 3600
REPORT = QuotaReport("codex", 300, 0.32, resets=400 * DAY + HOUR, at=400 * DAY - HOUR, raw='{"plan_type":"pro"}')


def reporting(key: str, *reports: QuotaReport, at: float = AT - 2 * HOUR, source: str = "codex") -> SessionSummary:
    spent = tuple(
        CallSpent(f"{key}{n}", 110, 100, 0, 1.0, started=int(at) + n * HOUR) for n in (-HOUR, 0, 1)
    )  # the second one after the report, the first one long before its window
    return SessionSummary(key=key, known=True, spent=spent, source=source, mtime=at, quotas=reports)


def test_of_each_window_the_newest_report_stands_beside_our_own_sum_of_it() -> None:
    week = QuotaReport("codex", 10_080, 0.07, resets=395 * DAY, at=394 * DAY)
    older = REPORT._replace(used=0.9, at=REPORT.at - 1, minutes=299)
    every = [reporting("a", REPORT, week), reporting("b", older), reporting("c", source="pi"), reporting("d")]
    found = make_stats(every, AT).reported
    assert [one.report for one in found] == [REPORT, week]
    short, long = (one.ours for one in found)
    # Of a, b and d, all of Codex, the call in the window up to the report, which is the hour before AT.
    assert (short.start, short.calls, short.tokens, short.usd) == (REPORT.resets - 5 * HOUR, 6, 660, 6.0)
    assert long.calls == 0
    assert [one.report for one in make_stats(every, AT, since=398.0 * DAY).reported] == [REPORT]
    assert make_stats(OLD, AT).reported == []


def test_a_quota_is_told_while_its_window_is_open() -> None:
    found = make_stats([reporting("a", REPORT)], AT)
    assert "codex 5 hours 32 % used" in view.summary_line(found, AT)[0].text
    assert "used" not in view.summary_line(found, REPORT.resets + 1.0)[0].text
    total = view.summary_line(found, AT)[0].text
    # Calls and tokens, which the table's last row says too, go before it does; money stays longer than it.
    less = view.summary_line(found, AT, len(total) - 1)[0].text
    assert "call" not in less and "used" in less and "list price" in less
    least = view.summary_line(found, AT, 75)[0].text
    assert "used" not in least and "list price" in least and len(least) <= 75
    table = view.quota_table(REPORT.resets + 1.0)
    words = "".join(span.text for span in table.draw(found.reported[0], 100))
    assert "over 1971-02-0" not in words and re.search(r"over 02-\d\d \d\d:\d\d", words)
    later = view.quota_table(REPORT.resets + 200.0 * DAY)
    assert re.search(r"over 1971-02-\d\d ", "".join(span.text for span in later.draw(found.reported[0], 100)))


@pytest.mark.parametrize(
    ("minutes", "words"), [(300, "5 hours"), (299, "5 hours"), (10_079, "7 days"), (60, "1 hour"), (45, "45 minutes")]
)
def test_windows_have_names(minutes: int, words: str) -> None:
    assert view.window_words(minutes) == words


@pytest.mark.parametrize("text", ["0001-01-01", "client-version=" + "9" * 5000, "tag=", "", "2026-13-01"])
def test_an_odd_change_is_parsed_or_refused(text: str) -> None:
    try:
        assert parse_change(text).words == text
    except CtxtuiError as error:
        assert "is not a change" in error.message


@pytest.mark.parametrize("resets", [10**17, 1e15, "soon", -1, True])
def test_a_reset_beyond_the_calendar_is_unknown(resets: object, tmp_path: Path) -> None:
    window: Any = {"used_percent": 5, "window_minutes": 300, "resets_at": resets}
    (report,) = read_rate_limits({"primary": window}, 1e9)
    assert report.resets == 0
    (header,) = read_quota_headers(
        [("anthropic-ratelimit-unified-5h-utilization", "0.5"), ("anthropic-ratelimit-unified-5h-reset", str(resets))],
        1e9,
    )
    assert header.resets == 0
    settings = Settings(data_dir=str(tmp_path))
    store_reports({"rate_limits": {"five_hour": {"used_percentage": 5, "resets_at": resets}}}, settings, 1e9)
    assert [stored.resets for stored in read_reports(settings)] == [0]


@pytest.mark.parametrize("versions", [("1.0 (a)", "2.0 (b)"), ("1.0", "1.1"), ("v1", "v2"), ("1 beta 2", "1 beta 3")])
@pytest.mark.parametrize("source", ["codex", "openhands v0", ""])
def test_a_change_that_is_listed_compares_what_it_lists(versions: tuple[str, str], source: str) -> None:
    own = [
        (SessionSummary(key=str(n), source=source, client_version=version, known=True), [CallSpent(f"m{n}", 5)])
        for n, version in enumerate(versions)
    ]
    for seen in find_changes(own):
        shown = compare(own, parse_change(seen.words))
        assert (shown.before.calls, shown.after.calls) == (seen.calls_before, seen.calls_after) == (1, 1)
    assert len(find_changes(own)) == 1
