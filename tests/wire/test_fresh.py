"""Fresh bodies: legal for their provider whatever they were made from, and what they lack is named."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ctxtui.core import block, canonical
from ctxtui.core.block import Item, Place
from ctxtui.core.block_content import read
from ctxtui.core.errors import CtxtuiError
from ctxtui.curation.legality.legality import check
from ctxtui.wire.grammar import GOOGLE
from ctxtui.wire.registry import DIALECTS
from ctxtui.wire.request import Request
from ctxtui.wire.translate.encode import build_body, export_request
from ctxtui.wire.translate.turns import _KINDS, CALL, RESULT
from tests.sampling import few, few_rows
from tests.transcripts.reading import ODD, changed, places
from tests.wire.talk import EVENTS, PIXEL, WRITERS, flat

NAMES = sorted(DIALECTS)
PAIRS = [(source, target) for source in NAMES for target in NAMES]


def source_body(events: list[tuple[str, ...]], source: str) -> bytes:
    return canonical.dumps(WRITERS[source](events))


def request_of(events: list[tuple[str, ...]], source: str) -> Request:
    return DIALECTS[source].decode_request(source_body(events, source), None)


def built(items: Any, target: str) -> tuple[dict[str, Any], list[str]]:
    body, lost = build_body(target, items, model="m")
    return json.loads(body), lost


@pytest.mark.parametrize(("source", "target"), few_rows(PAIRS, 4))
@example(events=[("thinking", "hello"), ("system", "hello")])
@example(events=[("user", "a"), ("thinking", "hello"), ("system", "b"), ("user", "c")])
@example(events=[("thinking", "hello"), ("assistant", ""), ("user", "hello")])
@example(events=[("call", "c1", '{"path":"a"}'), ("result", "", "hello")])
@example(events=[("call", "c2", '{"path":"a"}'), ("pair", "c1", "hello"), ("pair", "c1", "hello")])
@given(events=EVENTS)
def test_what_is_built_is_legal_and_keeps_every_word(source: str, target: str, events: list[tuple[str, ...]]) -> None:
    request = request_of(events, source)
    body, lost = build_body(target, request.items, model="m")
    again = DIALECTS[target].decode_request(body, None)
    assert [v for v in check(target, body) if not v.message.startswith("at least one")] == []
    if source != target:
        said = {read(item.block).text.strip() for item in again.items}
        said |= {line for text in said for line in text.split("\n\n")}
        for kind, *rest in flat(events):
            if kind in ("user", "assistant", "system") and rest[0].strip():
                assert rest[0].strip() in said
    answers = [rest[0] for kind, *rest in flat(events) if kind == "result"]
    unanswered = {rest[0] for kind, *rest in flat(events) if kind == "call"} - set(answers)
    # Google's answers without an id are those of its calls, by name and order.
    if len(unanswered) > (answers.count("") if source == GOOGLE else 0):
        assert any(line.startswith("tool calls without an answer") for line in lost)


STRANGE = st.sampled_from((*ODD, "", "\ud800", [{}], {"type": None}, {"type": []}, {"type": "compaction"}))
KINDS = st.sampled_from((*_KINDS, "tool", "compaction", "server_tool_use", "weird", "unreadable"))
SIGN = re.compile("<sign [0-9]+>")
NO_WORDS = frozenset("type role id tool_use_id tool_call_id call_id signature media_type mimeType mime_type".split())


def signed(value: Any, numbers: Iterator[int], key: str = "") -> Any:
    """`value` with a sign of its own in each text that is content."""
    if isinstance(value, str) and key not in NO_WORDS:
        return f"{value}<sign {next(numbers)}>"
    if isinstance(value, list):
        return [signed(one, numbers, key) for one in value]
    return {k: signed(one, numbers, k) for k, one in value.items()} if isinstance(value, dict) else value


def signs_of(item: Item) -> tuple[set[str], set[str]]:
    """The signs in what is read of a block; all that it has."""
    got = read(item.block)
    media = [f"{one.data} {one.url}" for one in got.media]
    return set(SIGN.findall(" ".join((got.text, got.arguments, *media)))), set(SIGN.findall(item.block.body.decode()))


def check_losses(items: list[Item]) -> None:
    """In each dialect, what a body made of `items` lacks is among its losses."""
    numbers = itertools.count()
    for at, (one, place) in enumerate(items):
        if one.kind != block.HEADER:
            items[at] = Item(block.make(one.kind, signed(one.value(), numbers)), place)
    for target in NAMES:
        made, lost = build_body(target, items, model="m")
        assert DIALECTS[target].decode_request(made, None).model == "m"
        unsaid, head = set(), 0
        for at, item in enumerate(items):
            head = at if item.block.kind == block.HEADER else head
            what, (words, signs) = _KINDS.get(item.block.kind), signs_of(item)
            # A tool's message is one part, whatever it holds. A call or an answer without words is its pair.
            part = head if item.place.role in ("tool", "function") and what not in (CALL, RESULT) else at
            gone = not words <= set(SIGN.findall(made.decode()))
            if not words and what not in (CALL, RESULT) and part == at:
                gone = bool(signs) and signs.isdisjoint(SIGN.findall(made.decode()))
            unsaid |= {part} if gone else set()
        assert len(unsaid) <= sum(int(line.rpartition("(")[2][:-1]) for line in lost), (target, lost)


@pytest.mark.parametrize("source", few(NAMES, 2))
@given(events=EVENTS, data=st.data())
def test_values_of_any_type_are_said_or_named_among_the_losses(
    source: str, events: list[tuple[str, ...]], data: st.DataObject
) -> None:
    body: Any = WRITERS[source](events)
    for _ in range(data.draw(st.integers(0, 3))):
        body = changed(body, data.draw(st.sampled_from([*places(body)] or [()])), data.draw(STRANGE))
    try:
        request = DIALECTS[source].decode_request(canonical.dumps(body), None)
    except CtxtuiError:
        return
    items = list(request.items)
    # A damaged record may also give a block another kind than its own.
    for at in data.draw(st.lists(st.integers(0, len(items) - 1), max_size=3)) if items else []:
        value = items[at].block.value()
        odd = changed(value, data.draw(st.sampled_from([(), *places(value)])), data.draw(STRANGE))
        kind = data.draw(st.one_of(st.just(items[at].block.kind), KINDS))
        items[at] = items[at]._replace(block=block.make(kind, odd))
    check_losses(items)


@pytest.mark.parametrize("key", ["mimeType", "mime_type"])
def test_the_type_of_a_picture_is_no_content(key: str) -> None:
    # Ollama's pictures have no type, and data that is no text has no sign.
    picture = block.make("image", {"inlineData": {key: "image/png", "data": 3}})
    check_losses([Item(picture, Place("messages", "user"))])


EMPTY_PNG = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": ""}}


@pytest.mark.parametrize(
    ("kind", "value", "role", "target", "loss"),
    [
        ("text", True, "user", "anthropic", ""),
        ("text", ["said"], "assistant", "anthropic", ""),
        ("tool_use", "said", "assistant", "anthropic", ""),
        ("tool_result", 7, "user", "openai_responses", ""),
        ("image", {"type": "image"}, "user", "openai_chat", "media that this dialect cannot hold"),
        ("image", EMPTY_PNG, "user", "openai_chat", "media that this dialect cannot hold"),
        ("image", EMPTY_PNG, "user", "openai_responses", "media that this dialect cannot hold"),
        ("document", {"source": {"type": "text", "data": ""}}, "user", "openai_chat", "empty text"),
        ("tool_call", {"function": {"name": "f"}}, "user", "openai_chat", "tool calls that are not the assistant's"),
        ("tool_use", {"name": "f"}, "system", "openai_responses", "tool calls that are not the assistant's"),
        ("image_url", {"image_url": "http://x/y.png"}, "system", "openai_responses", "media outside user messages"),
        ("reasoning", {"encrypted_content": "x"}, "system", "openai_responses", "reasoning, which only"),
        ("weird", False, "user", "anthropic", "weird, which only its own provider knows"),
        (block.HEADER, "x", "user", "anthropic", "heads of messages that could not be read"),
    ],
)
def test_a_part_that_is_damaged_is_said_or_named(kind: str, value: Any, role: str, target: str, loss: str) -> None:
    user = Place("messages", "user")
    place = Place("system") if role == "system" else Place("messages", role)
    head = [] if role == "system" else [Item(block.header(role), place)]
    items = [Item(block.header("user"), user), Item(block.text("hi"), user), *head]
    items += [Item(block.make(kind, value), place)]
    body, lost = build_body(target, items, model="m")
    assert [line.startswith(loss) for line in lost] == [True] * bool(loss), lost
    said = [read(item.block).text for item in DIALECTS[target].decode_request(body, None).items]
    assert loss or (value if isinstance(value, str) else canonical.dump_text(value)) in said


@pytest.mark.parametrize("name", NAMES)
def test_a_legal_conversation_in_its_own_dialect_loses_nothing(name: str) -> None:
    events = [("user", "hello"), ("call", "c1", '{"path":"a"}'), ("call", "c2", "{}"), ("result", "c1", "one"),
              ("result", "c2", "two"), ("assistant", "done"), ("user", "more")]  # fmt: skip
    given = WRITERS[name](events)
    request = request_of(events, name)
    body, lost = built(request.items, name)
    assert lost == []
    again = DIALECTS[name].decode_request(canonical.dumps(body), None)
    assert [i.block for i in again.items if i.block.kind != "header"] == [
        i.block for i in request.items if i.block.kind != "header"
    ]
    assert body["tools"] == given["tools"]


@pytest.mark.parametrize(
    ("target", "tool"),
    [
        ("anthropic", {"name": "read", "description": "reads", "input_schema": {"type": "object"}}),
        (
            "openai_chat",
            {
                "type": "function",
                "function": {"name": "read", "description": "reads", "parameters": {"type": "object"}},
            },
        ),
        (
            "openai_responses",
            {"type": "function", "name": "read", "description": "reads", "parameters": {"type": "object"}},
        ),
    ],
)
def test_tools_cross_dialects(target: str, tool: dict[str, Any]) -> None:
    for source in NAMES:
        body, _ = built(request_of([("user", "x")], source).items, target)
        assert body["tools"] == [tool]


@pytest.mark.parametrize(
    ("tool", "target", "lost"),
    [
        ({"name": "read", "input_schema": {}, "input_examples": [{"path": "a"}]}, "openai_chat", ["input_examples"]),
        ({"name": "read", "parameters": {}, "input_schema": {}}, "openai_chat", ["parameters"]),
        ({"type": "function", "function": {"name": "read", "args": "{}"}, "n": 1}, "anthropic", ["n", "args"]),
        ({"type": "function", "function": {"name": "read", "parameters": {}}}, "anthropic", []),
        ({"name": "read", "parametersJsonSchema": {}, "behavior": "BLOCKING"}, "anthropic", ["behavior"]),
        ({"name": "read", "input_schema": {}, "input_examples": None}, "google", []),
        ({"type": "function", "name": "read", "parameters": {}, "strict": True}, "anthropic", ["strict"]),
        ({"type": "function", "name": "read", "parameters": {}, "strict": True}, "openai_chat", []),
        ({"type": "function", "name": "read", "parameters": {}, "strict": False}, "google", []),
    ],
)
def test_a_member_of_a_tool_that_is_left_out_is_named(tool: dict[str, Any], target: str, lost: list[str]) -> None:
    _, lines = built([Item(block.make("tool", tool), Place("tools"))], target)
    assert lines == [f"the member {key} of tools (1)" for key in lost]


def test_anthropic_to_chat() -> None:
    events = [("user", "hi"), ("image", ""), ("thinking", "hm"), ("assistant", "ok"), ("call", "c1", "p"),
              ("result", "c1", "text")]  # fmt: skip
    body, lost = built(request_of(events, "anthropic").items, "openai_chat")
    assert body["messages"] == [
        {"role": "system", "content": "be kind"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "hi"},
                {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}},
            ],
        },
        {
            "role": "assistant",
            "content": "ok",
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"path":"p"}'}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "text"},
    ]
    assert lost == ["thinking, which this dialect does not take back (1)"]


def test_responses_to_anthropic() -> None:
    events = [("system", "rule"), ("user", "hi"), ("thinking", ""), ("pair", "c1", "out"), ("user", "go on")]
    body, lost = built(request_of(events, "openai_responses").items, "anthropic")
    assert body["system"] == [{"type": "text", "text": "be kind"}, {"type": "text", "text": "rule"}]
    assert body["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "hi"}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "read", "input": {}}]},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "out"},
                {"type": "text", "text": "go on"},
            ],
        },
    ]
    assert lost == ["thinking without a signature of this provider (1)"]


def test_a_custom_tools_free_text_crosses_as_far_as_it_can() -> None:
    body = {
        "input": [
            {"type": "message", "role": "user", "content": "x"},
            {"type": "custom_tool_call", "call_id": "c", "name": "apply_patch", "input": "*** Begin"},
            {"type": "custom_tool_call_output", "call_id": "c", "output": "Done"},
        ]
    }
    items = DIALECTS["openai_responses"].decode_request(canonical.dumps(body), None).items
    chat, _ = built(items, "openai_chat")
    assert chat["messages"][1]["tool_calls"][0]["custom"] == {"name": "apply_patch", "input": "*** Begin"}
    anthropic, lost = built(items, "anthropic")
    assert anthropic["messages"][1]["content"][0]["input"] == {"input": "*** Begin"}
    assert "wrapped" in lost[0]
    back = DIALECTS["openai_chat"].decode_request(canonical.dumps(chat), None).items
    assert built(back, "openai_responses")[0]["input"][1:] == body["input"][1:]


@pytest.mark.parametrize("text", ["", '{"a": 1}'])
def test_a_custom_tools_text_may_be_empty_or_json(text: str) -> None:
    body = {
        "input": [
            {"type": "message", "role": "user", "content": "x"},
            {"type": "custom_tool_call", "call_id": "c", "name": "run", "input": text},
            {"type": "custom_tool_call_output", "call_id": "c", "output": "Done"},
        ]
    }
    items = DIALECTS["openai_responses"].decode_request(canonical.dumps(body), None).items
    chat, _ = built(items, "openai_chat")
    assert chat["messages"][1]["tool_calls"] == [
        {"id": "c", "type": "custom", "custom": {"name": "run", "input": text}}
    ]
    back = DIALECTS["openai_chat"].decode_request(canonical.dumps(chat), None).items
    assert built(back, "openai_responses")[0]["input"][1:] == body["input"][1:]


def test_a_functions_cut_off_arguments_stay_those_of_a_function() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "read", "arguments": '{"x": 1, "y'}}
    messages = [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "no JSON"},
    ]
    items = DIALECTS["openai_chat"].decode_request(canonical.dumps({"messages": messages}), None).items
    assert built(items, "openai_responses")[0]["input"][1:] == [
        {"type": "function_call", "call_id": "c", "name": "read", "arguments": '{"x": 1, "y'},
        {"type": "function_call_output", "call_id": "c", "output": "no JSON"},
    ]
    body = {"input": built(items, "openai_responses")[0]["input"]}
    back = DIALECTS["openai_responses"].decode_request(canonical.dumps(body), None).items
    assert built(back, "openai_chat")[0]["messages"][1]["tool_calls"] == [call]


def test_what_is_not_known_is_left_out_and_named() -> None:
    items = [
        Item(block.make("not_recorded", {"type": "not_recorded", "what": "system"}), Place("system")),
        Item(block.header("user"), Place("messages", "user")),
        Item(block.text("hi"), Place("messages", "user", "meta")),
        Item(block.unreadable("line 3", "cut"), Place("messages", "user")),
        Item(block.header("assistant", {"id": "msg_1"}), Place("messages", "assistant")),
        Item(
            block.from_part({"type": "tool_use", "id": "a", "name": "n", "input": {}}), Place("messages", "assistant")
        ),
    ]
    body, lost = built(items, "anthropic")
    assert body["messages"] == [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]
    assert [line.split(" (")[0] for line in lost] == [
        "not recorded: system prompt, tools or earlier messages",
        "records that could not be read",
        "tool calls without an answer",
    ]


@pytest.mark.parametrize(
    ("follower", "kept"),
    [({"type": "program", "id": "p", "code": "1"}, True), ({"role": "user", "content": "go"}, False)],
    ids=["a program", "the user"],
)
def test_reasoning_stays_before_what_it_may_lead_to(follower: dict[str, Any], kept: bool) -> None:
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"}
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "c", "output": "ok"}
    said = {"model": "m", "input": [{"role": "user", "content": "hi"}, call, output, reasoning, follower]}
    items = DIALECTS["openai_responses"].decode_request(json.dumps(said).encode(), None).items
    body, lost = built(items, "openai_responses")
    assert (reasoning in body["input"]) is kept and bool(lost) is not kept


def test_a_conversation_that_begins_with_the_assistant_is_introduced() -> None:
    body, lost = built(request_of([("assistant", "hi"), ("user", "x")], "anthropic").items, "anthropic")
    assert [m["role"] for m in body["messages"]] == ["user", "assistant", "user"]
    assert any("put in front" in line for line in lost)


def test_export_uses_the_skeleton_of_its_own_dialect() -> None:
    body = b'{ "model":"m",  "messages":[{"role":"user","content":"hi"}], "stream" : true}'
    request = DIALECTS["openai_chat"].decode_request(body, None)
    assert export_request("openai_chat", request.items, request.skeleton, model="m") == (body, [])
    other, _ = export_request("anthropic", request.items, request.skeleton, model="claude")
    assert json.loads(other)["model"] == "claude"


def test_a_summary_in_words_crosses_dialects() -> None:
    items = [
        Item(block.header("assistant"), Place("messages", "assistant")),
        Item(block.from_part({"type": "compaction", "content": "what was said"}), Place("messages", "assistant")),
        Item(block.header("user"), Place("messages", "user")),
        Item(block.text("go on"), Place("messages", "user")),
    ]
    assert built(items, "openai_chat")[0]["messages"][0] == {"role": "assistant", "content": "what was said"}
    assert built(items, "openai_responses")[0]["input"][0]["content"] == [
        {"type": "output_text", "text": "what was said"}
    ]


def chat_request(**members: Any) -> Request:
    picture = {"type": "image_url", "image_url": {"url": "https://x/a.png", **members.pop("picture", {})}}
    said = [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": [{"type": "text", "text": "look"}, picture], **members},
        {"role": "assistant", "content": "seen"},
    ]
    body = {"model": "gpt-5", "messages": said}
    return DIALECTS["openai_chat"].decode_request(json.dumps(body).encode(), None)


@pytest.mark.parametrize("target", NAMES)
def test_a_speakers_name_that_is_left_out_is_named(target: str) -> None:
    assert "the member name of messages (1)" in built(chat_request(name="ada").items, target)[1]
    assert not any("member" in line for line in built(chat_request().items, target)[1])


@pytest.mark.parametrize("target", ["anthropic", "openai_responses"])
def test_the_detail_of_a_picture_that_is_left_out_is_named(target: str) -> None:
    assert "the detail asked for of pictures (1)" in built(chat_request(picture={"detail": "low"}).items, target)[1]
    assert built(chat_request(picture={"detail": "auto"}).items, target)[1] == []
    assert built(chat_request(picture={"detail": "low"}).items, "openai_chat")[1] == []


@pytest.mark.parametrize("target", ["openai_chat", "openai_responses"])
def test_cache_markers_do_not_cross_dialects_and_are_counted(target: str) -> None:
    marker = {"cache_control": {"type": "ephemeral"}}
    system = [{"type": "text", "text": "Be kind.", **marker}]
    said = [{"role": "user", "content": [{"type": "text", "text": "hello", **marker}]}]
    body = json.dumps({"model": "claude-opus-5", "max_tokens": 9, "system": system, "messages": said}).encode()
    request = DIALECTS["anthropic"].decode_request(body, None)
    _, lost = export_request(target, request.items, request.skeleton, model="m")
    assert lost == ["cache markers (2)"]
    assert export_request("anthropic", request.items, request.skeleton, model="m") == (body, [])


@given(events=EVENTS)
@example(events=[("assistant", "hello"), ("pair", "c1", "hello"), ("pair", "c1", "hello")])
def test_a_part_of_google_has_only_members_that_it_knows(events: list[tuple[str, ...]]) -> None:
    """A renamed call got its id beside it, which Google refuses."""
    body, _ = built(request_of(events, GOOGLE).items, GOOGLE)
    parts = [part for content in body["contents"] for part in content["parts"]]
    assert not any("id" in part for part in parts)
    ids = [part["functionCall"]["id"] for part in parts if "functionCall" in part and "id" in part["functionCall"]]
    assert len(ids) == len(set(ids))
