"""Rows of a context: going from call to call gives what a fresh look gives."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxtui.core import block as blocks
from ctxtui.core.block import HEADER, Item, Place
from ctxtui.core.session import MAIN
from ctxtui.views.transcript.row_index import MISSING, Boundaries, PathNodes, RowIndex, RuleRow
from tests.cases.sessions import Story, compacted, every_category, with_subagents

SESSIONS = {"every": every_category(), "compacted": compacted(), "agents": with_subagents()}


def shown(rows: RowIndex) -> list[object]:
    return [rows.rule(entry) if entry < 0 else entry for entry in (rows[i] for i in range(len(rows)))]


@given(st.sampled_from(sorted(SESSIONS)), st.lists(st.integers(0, 9), min_size=1, max_size=8), st.data())
def test_travelling_is_the_same_as_looking_anew(name: str, walk: list[int], data: st.DataObject) -> None:
    session = SESSIONS[name]
    thread = data.draw(st.sampled_from(sorted(session.order)))
    calls = session.thread_calls(thread)
    boundaries = Boundaries(session.tree)
    boundaries.extend(calls)
    travelled, trail = RowIndex(session.tree), PathNodes(session.tree)
    for step in walk:
        call = calls[step % len(calls)]
        hidden = data.draw(st.sampled_from([frozenset[int](), frozenset({7}), frozenset({3, 5})]))
        answer = session.tree.path(call.response_head, call.sent_head)
        tails = [(RuleRow("answer", "", answer[0]), call.response_head)] if answer else []
        arguments = {"boundaries": boundaries.at, "hidden": hidden, "missing": step % 2 == 0}
        travelled.show(call.sent_head, tails, **arguments)  # type: ignore[arg-type]
        fresh = RowIndex(session.tree)
        fresh.show(call.sent_head, tails, **arguments)  # type: ignore[arg-type]
        assert shown(travelled) == shown(fresh)
        assert list(trail.show(call.sent_head)) == session.tree.path(call.sent_head)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=12), st.sampled_from([frozenset[int](), frozenset({0, 3})]))
def test_what_comes_behind_a_call_is_put_behind_its_rows(steps: list[int], hidden: frozenset[int]) -> None:
    session = every_category()
    tree, call = session.tree, session.thread_calls()[-1]
    grown, tip, told = RowIndex(tree), call.response_head, 0
    boundaries: dict[int, list[RuleRow]] = {}
    for step in steps:
        if step == 0:
            tip = call.response_head
        elif step == 1:
            told += 1
        elif step == 2:
            tip = tree.child(tip, blocks.header("user"), Place("messages", "user"))
        elif step == 3:
            tip = tree.child(tip, blocks.text(f"more {tip}"), Place("messages", "user"))
        elif tip != call.response_head:
            boundaries.setdefault(tip, []).append(RuleRow("compaction", "", tip))
        path = tree.path(tip, call.response_head)
        tails = [(RuleRow("answer", str(told), tree.path(call.response_head, call.sent_head)[0]), call.response_head)]
        tails += [(RuleRow("since", "", path[0]), tip)] if path else []
        fresh = RowIndex(tree)
        for rows in (grown, fresh):
            rows.show(call.sent_head, tails, boundaries=boundaries, hidden=hidden)
        assert shown(grown) == shown(fresh) and grown.context_blocks == fresh.context_blocks
        assert list(grown.withheld) == list(fresh.withheld)


def test_headers_are_no_rows_but_what_is_not_recorded_is_the_first() -> None:
    session = SESSIONS["every"]
    rows = RowIndex(session.tree)
    rows.show(session.thread_calls()[-1].sent_head, missing=True)
    assert rows[0] == MISSING
    assert rows.context_blocks == len(rows) - 1
    kinds = [session.tree[rows[i]].block.kind for i in range(1, len(rows))]
    assert HEADER not in kinds and "tool_use" in kinds


def test_a_message_without_content_is_a_row_until_it_gets_some() -> None:
    story = Story()
    story.user("hi")
    empty = story.session.tree.extend(story.head, [Item(blocks.header("assistant"), Place("messages", "assistant"))])
    rows = RowIndex(story.session.tree)
    rows.show(empty)
    assert rows[len(rows) - 1] == empty
    more = story.session.tree.extend(empty, [Item(blocks.text("now"), Place("messages", "assistant"))])
    rows.show(more)
    assert empty not in shown(rows) and rows[len(rows) - 1] == more
    after = story.session.tree.extend(empty, [Item(blocks.header("user"), Place("messages", "user"))])
    rows.show(after)
    assert shown(rows)[-2:] == [empty, after]


def test_epochs_begin_where_their_first_new_block_stands() -> None:
    session = compacted()
    calls = session.thread_calls()
    boundaries = Boundaries(session.tree)
    for count in range(1, len(calls) + 1):
        boundaries.extend(calls[:count])
    rules = [rule for found in boundaries.at.values() for rule in found]
    assert [rule.kind for rule in rules] == ["compaction", "resume"]
    assert "24.2k" in rules[0].text
    assert session.tree[rules[0].before].place.mark == "summary"
    rows = RowIndex(session.tree)
    rows.show(calls[-1].sent_head, boundaries=boundaries.at)
    assert isinstance(shown(rows)[0], RuleRow)
    rows.show(calls[0].sent_head, boundaries=boundaries.at)
    assert not any(isinstance(row, RuleRow) for row in shown(rows))


@pytest.mark.parametrize("hidden", [frozenset(), frozenset({6, 7})])
def test_every_shown_block_is_found_again_by_its_depth(hidden: frozenset[int]) -> None:
    session = SESSIONS["every"]
    tree, rows = session.tree, RowIndex(session.tree)
    head = session.thread_calls(MAIN)[-1].sent_head
    rows.show(head, hidden=hidden, missing=True)
    for index in range(len(rows)):
        assert rows.index_of(tree[rows[index]].depth) == index
    for node in tree.path(head):
        if tree[node].category in hidden:
            assert tree[rows[rows.index_of(tree[node].depth)]].depth < tree[node].depth
