"""Edited requests: what an edit leaves alone keeps its spelling, its markers and its parameters."""

from __future__ import annotations

import json

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ctxtui.core import block, canonical
from ctxtui.core.block import HEADER, Item, Place
from ctxtui.core.call import Skeleton
from ctxtui.core.canonical import Json
from ctxtui.core.errors import Malformed
from ctxtui.wire.cache_markers import with_param
from ctxtui.wire.codec import codec
from ctxtui.wire.grammar import GRAMMARS
from ctxtui.wire.request import Request
from tests.wire.hostile import spelled

MARK = {"type": "ephemeral"}


def opened(text: str, dialect: str = "anthropic") -> Request:
    return codec.decode(text.encode(), GRAMMARS[dialect])


def written(request: Request) -> str:
    return codec.encode(request, GRAMMARS[request.skeleton.dialect]).decode()


def without(request: Request, *gone: int) -> Request:
    return request.with_items([item for n, item in enumerate(request.items) if n not in gone])


def replaced(request: Request, at: int, words: str) -> Request:
    items = list(request.items)
    items[at] = Item(block.text(words), items[at].place)
    return request.with_items(items)


@pytest.mark.parametrize("dialect", sorted(GRAMMARS))
@given(data=st.data())
def test_any_edit_gives_json_with_the_items_and_taking_it_back_gives_the_bytes(
    dialect: str, data: st.DataObject
) -> None:
    body = data.draw(spelled(dialect))
    try:
        request = codec.decode(body, GRAMMARS[dialect])
    except Malformed:
        return
    # With both, functions are no context until the tools are gone.
    assume("functions" not in request.params)
    _holds_without(request, data.draw(st.sets(st.integers(0, max(0, len(request.items) - 1)))))


@pytest.mark.parametrize(
    ("dialect", "message", "gone"),
    [
        # Found by the test above: a part of the content is of the field's kind, and the field's own block is dropped.
        ("ollama_chat", '"thinking":"0","content":[{"type":"thinking","signature":"s","thinking":"t"}]', {3}),
        ("ollama_chat", '"thinking":"0","content":[{"type":"thinking","thinking":""}]', {3}),
        ("openai_chat", '"reasoning":"0","content":[{"type":"reasoning","text":7}]', {3}),
        ("openai_chat", '"refusal":"0","content":[{"type":"refusal","refusal":"no","why":"w"}]', {4}),
        ("ollama_chat", '"thinking":"0","content":[{"type":"thinking","thinking":"t"}]', {3}),
    ],
)
def test_dropping_the_block_of_a_field_leaves_a_part_of_its_kind_as_it_is(
    dialect: str, message: str, gone: set[int]
) -> None:
    body = '{"messages":[{"role":"user","content":""},null,{"role":"assistant","tool_name":"read",' + message + "}]}"
    _holds_without(opened(body, dialect), gone)


@pytest.mark.parametrize("tools", ["%s", "[%s]"])
def test_a_function_with_an_odd_key_stays_a_function_where_another_goes(tools: str) -> None:
    functions = '{"n\\u0061me":"read"},{"name":"read"},{"name":"read"}'
    declared = tools.replace("%s", '{"functionDeclarations":[' + functions + "]}")
    _holds_without(opened('{"contents":[],"tools":' + declared + "}", "google"), {0})


def _holds_without(request: Request, chosen: set[int]) -> None:
    """The request without the items `chosen`, and what goes with them, is written as JSON that reads as such."""
    grammar = GRAMMARS[request.skeleton.dialect]
    assert request.with_items(request.items) == request
    gone = {n for n, item in enumerate(request.items) if item.block.kind == "unreadable"}
    # A header takes its message with it, as every editor does.
    for n in chosen:
        gone.add(n)
        if n < len(request.items) and request.items[n].block.kind == HEADER:
            rest = range(n + 1, len(request.items))
            end = next((m for m in rest if request.items[m].block.kind == HEADER), len(request.items))
            gone.update(range(n, end))
    edited = without(request, *gone)
    text = codec.encode(edited, grammar)
    again = codec.decode(text, grammar)
    # A string message that lost its text is an empty string, which is a block of its own where a tool answers.
    silent = (HEADER, "unreadable", block.text("").digest)
    left, right = (
        [i.block for i in r.items if not {i.block.kind, i.block.digest} & {*silent}] for r in (again, edited)
    )
    assert left == right
    params = {**request.params}
    for key in grammar.keys:
        params.pop(key, None)
    assert {key: canonical.dump_text(v) for key, v in again.params.items() if key in params} == {
        key: canonical.dump_text(v) for key, v in params.items()
    }


BODY: Json = {
    "model": "m",
    "system": [{"type": "text", "text": "rules", "cache_control": MARK}],
    "messages": [
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": [{"type": "text", "text": "a/b"}, {"type": "text", "text": "é"}]},
        {"role": "user", "content": [{"type": "text", "text": "last", "cache_control": MARK}]},
    ],
    "max_tokens": 5,
}


@pytest.mark.parametrize(
    ("style", "spell"),
    [
        ("compact", lambda v: json.dumps(v, separators=(",", ":"), ensure_ascii=False)),
        ("python", json.dumps),
        ("indented", lambda v: json.dumps(v, indent=2)),
        ("php", lambda v: json.dumps(v, separators=(",", ":")).replace("/", "\\/")),
    ],
)
def test_a_dropped_block_is_all_that_changes(style: str, spell: object) -> None:
    assert callable(spell)
    expected = json.loads(json.dumps(BODY))
    del expected["messages"][1]["content"][0]
    found = written(without(opened(spell(BODY)), 4))
    assert found == spell(expected)


def test_a_marker_stays_on_its_block_and_at_its_place_when_the_block_is_replaced() -> None:
    request = opened(json.dumps(BODY))
    assert [(m.item, m.value) for m in request.markers] == [(0, MARK), (7, MARK)]
    assert [m.item for m in without(request, 1, 2).markers] == [0, 5]
    again = replaced(request, 7, "other")
    assert [m.item for m in again.markers] == [0, 7]
    assert json.loads(written(again))["messages"][2]["content"][0]["cache_control"] == MARK
    assert [m.item for m in without(request, 7).markers] == [0]


def test_odd_spelling_of_blocks_that_stay_is_kept_inside_a_changed_message() -> None:
    text = '{"messages":[{"role":"user","content":[{"type":"text", "text":"\\u0061"},{"type":"text","text":"b"}]}]}'
    request = opened(text)
    assert written(without(request, 2)) == text.replace(',{"type":"text","text":"b"}', "")
    assert written(replaced(request, 2, "c")) == text.replace('"b"', '"c"')


def test_a_string_stays_a_string_while_it_can() -> None:
    request = opened('{"system":"s","messages":[{"role":"user","content":"x"}]}')
    assert written(replaced(request, 0, "t")) == '{"system":"t","messages":[{"role":"user","content":"x"}]}'
    assert written(replaced(request, 2, "y")) == '{"system":"s","messages":[{"role":"user","content":"y"}]}'
    more = [*request.items, Item(block.text("z"), Place("messages", "user"))]
    assert json.loads(written(request.with_items(more)))["messages"][0]["content"] == [
        {"type": "text", "text": "x"},
        {"type": "text", "text": "z"},
    ]


def test_sections_come_and_go_with_their_blocks() -> None:
    request = opened('{"tools":[{"name":"t"}],"messages":[{"role":"user","content":"x"}]}')
    assert written(without(request, 0)) == '{"messages":[{"role":"user","content":"x"}]}'
    back = without(request, 0).with_items([Item(block.text("s"), Place("system")), *request.items])
    found = json.loads(written(back))
    assert list(found) == ["tools", "system", "messages"]
    assert found["system"] == [{"type": "text", "text": "s"}]
    assert written(without(opened('{"messages":[{"role":"user","content":"x"}]}'), 0, 1)) == '{"messages":[]}'


def test_a_null_or_empty_section_is_filled_in_place() -> None:
    for empty in ("null", "[]", '""'):
        request = opened(f'{{"system":{empty},"messages":[]}}')
        filled = request.with_items([Item(block.text("s"), Place("system"))])
        assert json.loads(written(filled)) == {"system": [{"type": "text", "text": "s"}], "messages": []}


def test_responses_items_stay_outside_messages() -> None:
    items = [
        {"role": "user", "content": "x"},
        {"type": "function_call", "call_id": "c", "name": "n", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "ok"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]},
    ]
    request = opened(json.dumps({"input": items, "instructions": "i"}), "openai_responses")
    assert [i.block.kind for i in request.items] == [
        "text", "header", "text", "function_call", "function_call_output", "header", "output_text",
    ]  # fmt: skip
    assert json.loads(written(without(request, 3, 4)))["input"] == [items[0], items[3]]
    short = opened('{"input":"hi"}', "openai_responses")
    assert written(replaced(short, 1, "ho")) == '{"input":"ho"}'


def test_chat_calls_go_back_into_tool_calls() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "n", "arguments": "{}"}}
    body = {
        "messages": [
            {"role": "assistant", "content": None, "tool_calls": [call, {**call, "id": "d"}]},
            {"role": "tool", "tool_call_id": "c", "content": "one"},
        ]
    }
    request = opened(json.dumps(body), "openai_chat")
    assert [i.block.kind for i in request.items] == ["header", "tool_call", "tool_call", "header", "text"]
    assert json.loads(written(without(request, 2)))["messages"][0]["tool_calls"] == [call]
    assert "tool_calls" not in json.loads(written(without(request, 1, 2)))["messages"][0]


def test_what_the_provider_keeps_is_not_sent_again_until_it_is_edited() -> None:
    def said(words: str) -> list[Item]:
        place = Place("messages", "user")
        return [Item(block.make(HEADER, {"role": "user", "content": "string"}), place), Item(block.text(words), place)]

    text = '{"instructions":"i","input":"three","previous_response_id":"r"}'
    tail = opened(text, "openai_responses")
    skeleton = Skeleton(tail.skeleton.dialect, {**tail.skeleton.parts, "carried": [1, 4]})
    kept = [*said("one"), *said("two")]
    whole = Request((tail.items[0], *kept, *tail.items[1:]), skeleton)
    assert written(whole) == text
    assert written(replaced(whole, 6, "four")) == text.replace("three", "four")
    assert json.loads(written(without(whole, 0))) == {"input": "three", "previous_response_id": "r"}
    found = json.loads(written(replaced(whole, 4, "zwei")))
    assert [message["content"] for message in found["input"]] == ["one", "zwei", "three"]
    assert "previous_response_id" not in found


def test_a_request_tells_its_model_and_parameters() -> None:
    request = opened('{"model":"m","messages":[],"temperature":1.0,"tools":[]}')
    assert request.model == "m"
    assert request.params == {"model": "m", "messages": [], "temperature": 1.0, "tools": []}
    with pytest.raises(ValueError, match="cannot be written"):
        codec.encode(request, GRAMMARS["openai_chat"])


def test_many_equal_blocks_keep_their_markers_apart() -> None:
    parts = [{"type": "text", "text": "x", **({"cache_control": MARK} if n == 5 else {})} for n in range(9)]
    request = opened(json.dumps({"messages": [{"role": "user", "content": parts}]}))
    assert [m.item for m in request.markers] == [6]
    assert [m.item for m in without(request, 9).markers] == [6]


def test_of_duplicate_members_the_one_that_counts_is_set() -> None:
    body = '{"model":"a","model":"b","messages":[]}'
    request = with_param(opened(body, "openai_chat"), "model", "c")
    assert (request.model, written(request)) == ("c", '{"model":"a","model":"c","messages":[]}')
