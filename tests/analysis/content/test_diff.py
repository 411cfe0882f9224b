"""Diffs of contexts: where they part, what entered, left and changed, and blocks that change within a run."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxtui.analysis.call_choice import choose_call
from ctxtui.analysis.content.changing_blocks import find_changing_blocks
from ctxtui.analysis.content.diff import (
    CHANGED,
    ENTERED,
    LEFT,
    RESPELLED,
    TAKEN_OUT,
    Diff,
    DiffSide,
    compare_contexts,
    match_versions,
)
from ctxtui.analysis.content.normalized import diff_text, neutral_key
from ctxtui.core import block as blocks
from ctxtui.core import canonical
from ctxtui.core.block import Item, Place
from ctxtui.core.block_content import SCHEMA_MEMBERS
from ctxtui.core.call import Call, Epoch, EpochStart
from ctxtui.core.session import CallSeen, Session
from ctxtui.core.tree import ROOT, Tree
from ctxtui.wire.grammar import OLLAMA
from ctxtui.wire.registry import DIALECTS
from tests.cases.sessions import Story, book_of, every_category, thinking, use

KIND = {"function": "tool_call"}
"""How the Chat dialect's calls are named."""


def side(session: Session, number: int = 0) -> DiffSide:
    return DiffSide(book_of(session), choose_call(session, "", number))


def told(got: Diff) -> list[tuple[str, int]]:
    return [(change.kind, change.at) for change in got.changes]


def asked(system: str, *messages: str) -> Session:
    """One call per message, each with the whole history behind `system`."""
    session = Session()
    send(session, system, list(messages))
    return session


def send(session: Session, system: str, messages: list[str], number: int = 1, epoch: Epoch | None = None) -> None:
    items = [Item(blocks.text(system), Place("system", "system"))]
    for at, message in enumerate(messages):
        place = Place("messages", "assistant" if at % 2 else "user")
        items += [Item(blocks.header(place.role), place), Item(blocks.text(message), place)]
    head = session.tree.extend(ROOT, items)
    session.apply(CallSeen(Call(f"c{number}", "main", head, head, head, epoch=epoch or Epoch())))


def test_a_context_that_only_grew_entered_blocks_and_nothing_else() -> None:
    session = every_category()
    last = len(session.thread_calls())
    book = book_of(session)
    one, other = DiffSide(book, choose_call(session, "", last - 1)), DiffSide(book, choose_call(session, "", last))
    got = compare_contexts(one, other)
    assert got.shared == len(one.rows()) and {kind for kind, _ in told(got)} == {ENTERED}
    assert [at for _, at in told(got)] == list(range(got.shared + 1, len(other.rows()) + 1))
    back = compare_contexts(other, one)
    assert {kind for kind, _ in told(back)} == {LEFT} and not back.is_same
    assert compare_contexts(one, one).is_same and compare_contexts(one, one).shared == len(one.rows())


def test_a_changed_date_is_one_change_and_what_follows_is_kept() -> None:
    got = compare_contexts(
        side(asked("Be brief. Today is Monday.", "hi", "yes")), side(asked("Be brief. Today is Friday.", "hi", "yes"))
    )
    assert told(got) == [(CHANGED, 1)] and got.shared == 0 and got.kept == 2
    assert got.first_change is not None and got.first_change.before is not None and got.first_change.after is not None


def test_the_same_words_in_another_dialect_are_the_same() -> None:
    chat, messages, responses = Session(), Session(), Session()
    call = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": '{"b": 2, "a": 1}'}}
    item = {"type": "function_call", "call_id": "fc", "name": "ls", "arguments": '{"a":1,"b":2}'}
    tool = {"name": "ls", "description": "Lists.", "input_schema": {"type": "object"}}
    chat_tool = {
        "type": "function",
        "function": {"name": "ls", "description": "Lists.", "parameters": {"type": "object"}},
    }
    outcome = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "a.py"}
    output = {"type": "function_call_output", "call_id": "fc", "output": "a.py"}
    shapes = (
        (chat, chat_tool, call, Item(blocks.text("a.py"), Place("messages", "tool"))),
        (messages, tool, use("toolu_1", "ls", a=1, b=2), Item(blocks.from_part(outcome), Place("messages", "user"))),
        (responses, {"type": "function", **tool}, item, Item(blocks.from_part(output), Place("messages", "user"))),
    )
    for session, definition, made, result in shapes:
        story = Story(session=session)
        story.add(Item(blocks.make("tool", definition), Place("tools"))).user("look")
        story.add(
            Item(blocks.make(KIND.get(made["type"], made["type"]), made), Place("messages", "assistant")), result
        ).user("so?").call("done")
    for other in (messages, responses):
        assert told(compare_contexts(side(chat), side(other))) == []


def test_two_results_of_one_tool_without_ids_are_not_versions_of_one_block() -> None:
    def result(text: str) -> int:
        response = {"name": "read", "response": {"output": text}}
        made = blocks.make("function_response", {"functionResponse": response})
        return tree.child(ROOT, made, Place("messages", "user"))

    tree = Tree()
    assert list(match_versions(tree, tree, [result("a file of words")], [result("other lines")])) == []


def test_an_image_whose_type_only_one_dialect_names_is_the_same() -> None:
    source = {"type": "base64", "media_type": "image/png", "data": "aGk="}
    typed = blocks.from_part({"type": "image", "source": source})
    tree, keys = Tree(), []
    for items in (
        [Item(typed, Place("messages", "user"))],
        DIALECTS[OLLAMA].decode_request(b'{"messages":[{"role":"user","images":["aGk="]}]}', None).items,
    ):
        keys.append(neutral_key(tree[tree.extend(ROOT, items)]))
    assert keys[0] == keys[1]


def test_another_id_for_the_same_call_is_a_respelling_and_another_result_a_change() -> None:
    one, other = Story(), Story()
    for story, id_, result in ((one, "t1", "a\nb\nc d e"), (other, "t2", "a\nb\nc d f")):
        story.user("go").call(use(id_, "Bash", command="ls")).results((id_, result)).call("ok")
    assert told(compare_contexts(side(one.session), side(other.session))) == [(RESPELLED, 2), (CHANGED, 3)]


def test_a_cleared_result_is_the_other_version_of_the_block_with_its_id() -> None:
    one, other = Story(), Story()
    for story, result in ((one, "a long listing " * 50), (other, "[cleared]")):
        story.user("go").call(use("t1", "Bash", command="ls"), usage=False).results(("t1", result))
        story.call("ok", usage=False)
    got = compare_contexts(side(one.session), side(other.session))
    assert told(got) == [(CHANGED, 3)]
    before, after = got.count_changes(CHANGED)[1:]
    assert before > after > 0


texts = st.lists(st.sampled_from(["a b c", "d e f", "g", "h i j k"]), min_size=1, max_size=6)


@settings(max_examples=60)
@given(texts, texts)
def test_what_entered_and_left_accounts_for_both_contexts(one: list[str], other: list[str]) -> None:
    a, b = side(asked("s", *one)), side(asked("s", *other))
    got = compare_contexts(a, b)
    count = {kind: got.count_changes(kind)[0] for kind in (CHANGED, ENTERED, LEFT)}
    assert got.shared + got.kept + count[CHANGED] + count[LEFT] == len(a.rows())
    assert got.shared + got.kept + count[CHANGED] + count[ENTERED] == len(b.rows())
    assert got.is_same == (one == other)


def test_a_date_in_the_system_prompt_is_a_block_that_changes_within_a_run() -> None:
    session = Session()
    history = ["hello"]
    for number, day in enumerate(["Monday", "Monday", "Tuesday", "Wednesday"], 1):
        send(session, f"Be brief. Today is {day}.", history, number)
        history += [f"answer {number}", f"more {number}"]
    [found] = find_changing_blocks(session, "main")
    assert found.calls == (1, 3, 4) and found.changes == 2
    assert [session.tree[node].block.value()["text"][-8:-1] for node in found.nodes] == [
        " Monday",
        "Tuesday",
        "dnesday",
    ]
    send(session, "Be brief. Today is Sunday.", ["summary"], 5, Epoch(2, EpochStart.COMPACTION))
    assert find_changing_blocks(session, "main") == [found]


def test_thinking_that_the_provider_took_out_has_left_and_the_diff_says_so() -> None:
    story = Story(model="claude-opus-4-20250514")
    thought = thinking("let me look")
    story.user("go").call(thought, use("t1", "Bash", command="ls")).results(("t1", "files"))
    story.call(thinking("that is all"), "done").user("and now?").call("ok")
    got = compare_contexts(side(story.session, 2), side(story.session, 3))
    (first, *rest) = got.changes
    assert first.kind == LEFT and got.removal_reason(first) == TAKEN_OUT and first.before is not None
    assert first.at == 2, "what is behind it leaves the cache too"
    assert {change.kind for change in rest} == {ENTERED}
    entered = [change.after for change in rest if change.after is not None]
    assert all(got.b.tree[node].block.kind != "thinking" for node in entered), "what was not read has not entered"
    assert got.token_of_difference > got.shared_tokens, "what is not recorded stands in front"


@pytest.mark.parametrize("member", SCHEMA_MEMBERS)
def test_a_tool_whose_schema_changed_is_another_in_every_spelling(member: str) -> None:
    def key(name: str, kind: str) -> object:
        tree = Tree()
        tool = blocks.make(blocks.TOOL, {"name": "t", name: {"type": kind}})
        return neutral_key(tree[tree.extend(ROOT, [Item(tool, Place("tools"))])])

    assert key(member, "object") != key(member, "string")
    assert key(member, "object") == key("input_schema", "object")


def test_a_call_or_a_tool_may_be_nested_deeply() -> None:
    text = '{"a":' * 600 + "1" + "}" * 600
    call = blocks.from_part({"type": "function_call", "name": "f", "call_id": "x", "arguments": text})
    tool = blocks.make("tool", {"name": "f", "input_schema": canonical.loads(text)})
    tree = Tree()
    tree.extend(ROOT, [Item(tool, Place("tools")), Item(call, Place("messages", "assistant"))])
    for node in (tree[1], tree[2]):
        assert text in diff_text(node) and neutral_key(node) == neutral_key(node)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"type": "text", "text": "a"}, {"type": "text", "text": "a", "citations": None}),
        (
            {"type": "tool_result", "tool_use_id": "t1", "content": "a"},
            {"type": "tool_result", "tool_use_id": "t1", "content": "a", "is_error": True},
        ),
    ],
)
def test_one_member_more_in_the_same_session_is_a_respelling(before: dict[str, Any], after: dict[str, Any]) -> None:
    """The cache differs with the digest, and no other dialect is involved."""
    session = Session()
    place = Place("messages", "user")
    for number, part in enumerate((before, after), 1):
        head = session.tree.extend(ROOT, [Item(blocks.header("user"), place), Item(blocks.from_part(part), place)])
        session.apply(CallSeen(Call(f"c{number}", "main", head, head, head)))
    assert told(compare_contexts(side(session, 1), side(session, 2))) == [(RESPELLED, 1)]
