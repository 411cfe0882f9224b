"""Law 4: apply then revert is nothing; originals never change; no policy removes a pinned block."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxtui.core import block
from ctxtui.core.block import HEADER
from ctxtui.core.edit import REVERT, USER, Edit, Target, make
from ctxtui.core.edit_kinds import DROP, EXTERNALIZE, HOIST, KINDS, MOVE, NOTE, PIN, REPLACE, STRIP, SUMMARIZE, TRUNCATE
from ctxtui.curation.apply.apply import apply
from ctxtui.curation.context import Context
from tests.curation.conversations import context_of, logs
from tests.wire import talk

DIALECTS = sorted(talk.WRITERS)


@st.composite
def edited(draw: st.DrawFn) -> tuple[Context, list[Edit]]:
    dialect = draw(st.sampled_from(DIALECTS))
    context, _ = context_of(talk.WRITERS[dialect](draw(talk.EVENTS)), dialect)
    return context, draw(logs(context))


@given(edited())
def test_apply_then_revert_is_nothing(made: tuple[Context, list[Edit]]) -> None:
    context, log = made
    alone = [edit for edit in log if not edit.reverts]
    back = [Edit(f"z{n}", REVERT, reverts=edit.id) for n, edit in enumerate(alone)]
    plain = apply(context, [])
    assert apply(context, [*alone, *back]) == plain
    assert plain.sent == tuple(context.items)
    assert not plain.is_changed


@given(edited())
def test_originals_never_change_and_every_block_is_accounted_for(made: tuple[Context, list[Edit]]) -> None:
    context, log = made
    nodes, items = list(context.tree.nodes()), list(context.items)
    found = apply(context, log)
    assert (list(context.tree.nodes()), context.items) == (nodes, items)
    kept = [one.node for one in found.items if one.node >= 0]
    assert kept == sorted(kept)
    assert sorted([*kept, *(node for node, _ in found.dropped)]) == context.nodes
    for one in found.items:
        if one.edit is None:
            assert one.item == context.items[context.position(one.node)]
    assert apply(context, log).sent == found.sent


@given(edited())
def test_no_other_author_removes_a_pinned_block(made: tuple[Context, list[Edit]]) -> None:
    context, log = made
    found = apply(context, log)
    for change in found.changes.values():
        if change.position in found.pinned:
            assert change.edit.author == USER


@given(edited(), st.data())
def test_edits_stay_on_their_blocks_when_the_client_appends(
    made: tuple[Context, list[Edit]], data: st.DataObject
) -> None:
    context, log = made
    before = apply(context, log)
    more = data.draw(st.sampled_from([("user", "go on"), ("assistant", "done")]))
    head = context.tree.extend(context.head, context_of(talk.WRITERS["anthropic"]([more]), "anthropic")[0].items[-2:])
    later = apply(Context(context.tree, head, context.dialect, context.params), log)
    assert {e.edit.id for e in later.without_target} <= {e.edit.id for e in before.without_target}


def test_a_context_grows_as_one_read_whole() -> None:
    events: list[tuple[str, ...]] = [
        ("user", "a"), ("thinking", "t"), ("pair", "c1", "x"), ("assistant", "b"), ("user", "c"), ("pair", "c2", "y"),
    ]  # fmt: skip
    for dialect in DIALECTS:
        whole, _ = context_of(talk.WRITERS[dialect](events), dialect)
        growing = Context(whole.tree, whole.nodes[1], dialect)
        for node in whole.nodes[2:]:
            growing = growing.grow_to(node)
        for name in ("nodes", "items", "messages", "message_of", "partners", "successor", "thinking", "open_before"):
            assert getattr(growing, name) == getattr(whole, name), (dialect, name)


def say(*events: tuple[str, ...], dialect: str = "anthropic") -> Context:
    return context_of(talk.WRITERS[dialect](list(events)), dialect)[0]


def shape(found: Any) -> list[str]:
    """What is left of the messages, one string a block: role for a header, else kind and words."""
    made = []
    for item in found.sent:
        if item.place.section != "messages":
            continue
        value = item.block.value()
        words = value.get("text") or value.get("content") or value.get("id") or value.get("thinking") or ""
        made.append(f"{item.place.role}:" if item.block.kind == HEADER else words if isinstance(words, str) else "…")
    return made


def of(context: Context, words: str, occurrence: int = 0) -> Target:
    found = [p for p in range(len(context)) if context.items[p].block.kind != HEADER and words in _said(context, p)]
    return context.target(found[occurrence])


def _said(context: Context, position: int) -> str:
    return context.items[position].block.body.decode()


PAIRED: tuple[tuple[str, ...], ...] = (
    ("user", "first"), ("assistant", "look"), ("call", "c1", "{}"), ("result", "c1", "found"), ("assistant", "so"),
    ("user", "next"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "words", "given_", "expected"),
    [
        (DROP, "look", {}, ["user:", "first", "assistant:", "c1", "user:", "found", "assistant:", "so", "user:",
                            "next"]),
        (DROP, "found", {}, ["user:", "first", "assistant:", "look", "assistant:", "so", "user:", "next"]),
        (DROP, '"tool_use"', {}, ["user:", "first", "assistant:", "look", "assistant:", "so", "user:", "next"]),
        (DROP, "first", {}, ["user:", "(Earlier messages were removed.)", "assistant:", "look", "c1", "user:", "found",
                             "assistant:", "so", "user:", "next"]),
        (DROP, "next", {}, ["user:", "first", "assistant:", "look", "c1", "user:", "found"]),
        (REPLACE, "found", {"text": "new"}, ["user:", "first", "assistant:", "look", "c1", "user:", "new", "assistant:",
                                             "so", "user:", "next"]),
        (NOTE, "look", {"text": "n"}, ["user:", "first", "assistant:", "look", "c1", "user:", "found", "user:", "n",
                                       "assistant:", "so", "user:", "next"]),
        (NOTE, "next", {"text": "n", "where": "before"}, ["user:", "first", "assistant:", "look", "c1", "user:",
                                                          "found",
                                                          "assistant:", "so", "user:", "n", "user:", "next"]),
        (SUMMARIZE, "look", {"text": "S"}, ["user:", "first", "assistant:", "S", "c1", "user:", "found", "assistant:",
                                            "so", "user:", "next"]),
        (MOVE, "first", {"to": "end"}, ["user:", "(Earlier messages were removed.)", "assistant:", "look", "c1",
                                        "user:",
                                        "found", "assistant:", "so", "user:", "next", "user:", "first"]),
    ],
)  # fmt: skip
def test_what_becomes_of_a_conversation(kind: str, words: str, given_: dict[str, Any], expected: list[str]) -> None:
    context = say(*PAIRED)
    assert shape(apply(context, [make(kind, [of(context, words)], given_)])) == expected


def test_a_range_becomes_one_summary_where_it_stood() -> None:
    context = say(*PAIRED)
    start, stop = (context.find(of(context, words)) for words in ("look", '"so"'))
    assert start is not None and stop is not None
    edit = make(SUMMARIZE, context.targets(range(start, stop + 1)), {"text": "S"})
    found = apply(context, [edit])
    assert shape(found) == ["user:", "first", "user:", "S", "user:", "next"]
    assert [one.item.place.mark for one in found.items if one.node < 0] == ["summary", "summary"]


def test_a_summary_of_summaries_stands_alone() -> None:
    context = say(*PAIRED)
    start, stop = (context.find(of(context, words)) for words in ("look", '"so"'))
    assert start is not None and stop is not None
    first = make(SUMMARIZE, context.targets(range(start, stop - 1)), {"text": "part"})
    whole = make(SUMMARIZE, context.targets(range(start, stop + 1)), {"text": "all"})
    assert "part" in shape(apply(context, [first]))
    assert shape(apply(context, [first, whole])) == ["user:", "first", "user:", "all", "user:", "next"]
    back = Edit("r", REVERT, reverts=whole.id)
    assert apply(context, [first, whole, back]).sent == apply(context, [first]).sent


def test_repairs_say_what_for_and_go_with_their_edit() -> None:
    context = say(*PAIRED)
    drop = make(DROP, [of(context, "found")], id="d")
    found = apply(context, [drop])
    (repair,) = found.repairs
    assert (repair.author, dict(repair.params)) == ("repair", {"for": "d", "why": "a call and its answer go together"})
    assert repair.targets == (of(context, '"tool_use"'),)
    assert {c.position for c in found.changes.values() if c.is_repair} == {context.find(repair.targets[0])}


def test_pins_hold_what_would_take_them_along() -> None:
    context = say(*PAIRED)
    pin = make(PIN, [of(context, "found")])
    for author in (USER, "window"):
        call = make(DROP, [of(context, '"tool_use"')], author=author)
        found = apply(context, [pin, call])
        assert not found.is_changed
        assert [(rejected.edit, rejected.why) for rejected in found.rejected] == [
            (call, "its call or result is pinned")
        ]
    mine = make(DROP, [of(context, "found")])
    assert len(apply(context, [mine, pin]).dropped) == 3
    theirs = make(TRUNCATE, [of(context, "found")], {"head": 1, "tail": 1}, author="window")
    assert [rejected.why for rejected in apply(context, [pin, theirs]).rejected] == ["pinned"]


def test_the_end_of_the_request_is_not_taken_from_under_a_pin() -> None:
    context = say(*PAIRED)
    found = apply(context, [make(PIN, [of(context, '"so"')]), make(DROP, [of(context, "next")], id="d")])
    assert not found.is_changed
    assert [rejected.why for rejected in found.rejected] == [
        "a pinned block would go with it: a request must end with the user's side"
    ]


def test_later_edits_of_a_block_work_on_what_earlier_ones_made() -> None:
    context = say(("user", "0123456789" * 90))
    target = context.target(len(context) - 1)
    text = make(TRUNCATE, [target], {"head": 100, "tail": 50})
    drop, back = make(DROP, [target]), make(REPLACE, [target], {"text": "again"})
    assert shape(apply(context, [drop, back])) == ["user:", "again"]
    assert apply(context, [text]).sent[-1].block.value()["text"].count("cut") == 1
    assert apply(context, [back, text]).sent[-1].block.value()["text"] == "again"
    everything = apply(context, [back, drop])
    assert (everything.refused, everything.is_changed) == ("no message would be left", True)


@pytest.mark.parametrize(
    ("choice", "reason", "kept"),
    [
        ({"type": "auto"}, "calls are in the context: one tool must stay defined", "b"),
        ({"type": "tool", "name": "a"}, "tool_choice names this tool", "a"),
    ],
)
def test_a_tool_that_the_request_needs_is_not_removed(choice: dict[str, str], reason: str, kept: str) -> None:
    body = talk.WRITERS["anthropic"](list(PAIRED))
    tools = [{"name": name, "description": name, "input_schema": {"type": "object"}} for name in ("a", "b")]
    context, _ = context_of({**body, "tools": tools, "tool_choice": choice}, "anthropic")
    edit = make(DROP, [context.target(position) for position in context.tools])
    found = apply(context, [edit])
    assert [rejected.why for rejected in found.rejected] == [reason]
    assert [item.block.value()["name"] for item in found.sent if item.place.section == "tools"] == [kept]
    twice = apply(context, [edit, make(DROP, edit.targets, author="window")])
    assert [rejected.why for rejected in twice.rejected] == [reason, reason] and twice.sent == found.sent


def test_signed_blocks_are_stripped_but_not_changed() -> None:
    context = say(("user", "a"), ("thinking", "hm"), ("pair", "c1", "x"), ("assistant", "b"), ("user", "c"))
    thought = of(context, "hm")
    change = apply(context, [make(REPLACE, [thought], {"text": "other"})])
    assert not change.is_changed and "signed" in change.rejected[0].why
    assert "hm" not in shape(apply(context, [make(STRIP, [thought])]))


def test_an_edit_sleeps_while_its_target_is_away() -> None:
    context = say(*PAIRED)
    edit = make(DROP, [Target("0" * 32)])
    assert [one.edit for one in apply(context, [edit]).without_target] == [edit]
    first = make(DROP, [context.target(len(context) - 1)])
    shorter = Context(context.tree, context.nodes[-3], "anthropic")
    assert [one.edit for one in apply(shorter, [first]).without_target] == [first]
    assert not apply(shorter.grow_to(context.head), [first]).without_target


def test_a_result_is_found_by_its_id_when_the_client_rewrote_it() -> None:
    context = say(*PAIRED)
    target = of(context, "found")
    assert target.id == "answer c1"
    other = say(*[(e[0], e[1], "cleared") if e[0] == "result" else e for e in PAIRED])
    assert len(apply(other, [make(DROP, [target])]).dropped) == 3


def test_static_text_is_hoisted_once_and_taken_from_every_message() -> None:
    rules = "RULES: be brief.\n"
    context = say(("user", f"{rules}one"), ("assistant", "a"), ("user", f"{rules}two"))
    targets = [of(context, "RULES"), of(context, "RULES", 1)]
    found = apply(context, [make(HOIST, targets, {"text": rules})])
    assert shape(found) == ["user:", "one", "assistant:", "a", "user:", "two"]
    system = [i.block.value()["text"] for i in found.sent if i.place.section == "system"]
    assert system == ["be kind", rules]


def test_hoisting_leaves_the_rest_byte_for_byte_and_puts_nothing_in_for_nothing() -> None:
    context = say(("user", "\n before\nRULES\n\n\nafter \n"))
    found = apply(context, [make(HOIST, [of(context, "RULES")], {"text": "RULES\n"})])
    assert shape(found)[-1] == "\n before\n\n\nafter \n"
    edit = make(HOIST, [of(context, "RULES")], {"text": "not said"})
    nothing = apply(context, [edit])
    assert not nothing.is_changed and [one.edit for one in nothing.rejected] == [edit]


def test_what_is_moved_twice_stands_once() -> None:
    context = say(("user", "a"), ("assistant", "b"), ("user", "memory"), ("assistant", "c"), ("user", "d"))
    target = of(context, "memory")
    log = [make(MOVE, [target], {"to": to}) for to in ("system", "end", "start")]
    assert [item.block.value() for item in apply(context, log).sent].count({"type": "text", "text": "memory"}) == 1
    assert shape(apply(context, log))[:2] == ["user:", "memory"]
    assert shape(apply(context, log[:2]))[-1] == "memory"
    assert "memory" not in shape(apply(context, [*log, make(DROP, [target])]))
    again = apply(context, [log[0], make(REPLACE, [target], {"text": "other"})])
    said = str([item.block.value() for item in again.sent])
    assert "memory" not in said and said.count("other") == 1


def test_content_goes_out_under_a_name() -> None:
    context = say(("user", "see 0123456789 there"))
    parts = [{"name": "CODE 1", "line": "— ten digits", "start": 4, "stop": 14}]
    found = apply(context, [make(EXTERNALIZE, [of(context, "see")], {"parts": parts})])
    assert shape(found)[-1] == "see {{REF:CODE_1}} — ten digits there"


def test_a_header_stands_for_its_message() -> None:
    context = say(*PAIRED)
    head = next(
        p for p in range(len(context)) if context.items[p].block == block.header("assistant", {"content": "list"})
    )
    assert shape(apply(context, [make(DROP, [context.target(head)])])) == [
        "user:", "first", "assistant:", "so", "user:", "next",
    ]  # fmt: skip


def test_every_kind_is_tried_here() -> None:
    from tests.curation.conversations import PAYLOADS

    assert {*PAYLOADS, "breakpoint"} == set(KINDS)
