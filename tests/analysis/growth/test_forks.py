"""Lines of a thread that went back, and where sessions come from."""

from __future__ import annotations

import pytest

from ctxtui.analysis.growth.forks import CONTINUED, CallRange, ForkOrigin, list_lines, parse_origin, session_origin
from ctxtui.core.session import Happened, Session
from tests.cases.sessions import Story, compacted, every_category, with_subagents


def branched() -> Session:
    """Three calls; back to the first one's answer for two more; back to the third's for one."""
    story = Story(hidden_tokens=0)
    story.user("begin").call("one")
    first = story.head
    story.user("go on").call("two").user("and on").call("three")
    third = story.head
    story.head = first
    story.user("another way").call("four").user("further").call("five")
    story.head = third
    story.user("back on the main road").call("six").tip()
    return story.session


def test_a_thread_that_goes_back_has_a_line_for_each_time() -> None:
    assert list_lines(branched()) == [
        CallRange(1, 3, 0, "begin"),
        CallRange(4, 5, 1, "another way"),
        CallRange(6, 6, 3, "back on the main road"),
    ]


@pytest.mark.parametrize("make", [compacted, every_category, with_subagents])
def test_what_only_goes_on_or_is_rewritten_is_one_line(make) -> None:  # type: ignore[no-untyped-def]
    session = make()
    for thread in session.threads:
        calls = session.thread_calls(thread)
        assert [(line.first, line.last) for line in list_lines(session, thread)] == ([(1, len(calls))] if calls else [])


def test_where_a_session_comes_from_is_read_back_and_nothing_else_is() -> None:
    origin = ForkOrigin("chat-1", "/some/where.jsonl", "main", 7)
    session = Session()
    assert session_origin(session) is None
    session.fold([Happened(CONTINUED, origin.text), Happened("api error", "no")])
    assert session_origin(session) == origin
    endless = '{"session": "a", "name": "b", "thread": "c", "call": 1e999}'
    for text in (
        endless,
        "[" * 100_000,
        "",
        "no",
        "[]",
        "{}",
        '{"session": "a", "name": "b", "thread": "c", "call": "d"}',
        "null",
        "7",
    ):
        assert parse_origin(text) is None
