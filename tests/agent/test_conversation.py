"""Conversations in every dialect: what is sent reads back as what the agent has, and stays legal."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxtui.agent.conversation import Conversation, ConversationStart, begin, resume, with_tools
from ctxtui.agent.tools.registry import TOOLS
from ctxtui.core.block_content import read
from ctxtui.core.canonical import dumps, loads
from ctxtui.core.tree import ROOT, Tree
from ctxtui.curation.legality.legality import check
from ctxtui.wire.registry import DIALECTS, encode
from ctxtui.wire.request import Request, Response
from ctxtui.wire.speech import Result, ResultImage
from ctxtui.wire.sse import EventParser
from tests.cases.sessions import PNG

PARAMS: dict[str, dict[str, Any]] = {
    "anthropic": {"model": "m", "max_tokens": 1000, "cache_control": {"type": "ephemeral"}, "stream": True},
    "openai_chat": {"model": "m", "stream": True, "stream_options": {"include_usage": True}},
    "openai_responses": {"model": "m", "store": False, "stream": True},
    "ollama_chat": {"model": "m", "stream": True},
    "google": {"model": "models/m", "generationConfig": {"maxOutputTokens": 1000}},
}
EVERY = pytest.mark.parametrize("dialect", list(PARAMS))


def begun(dialect: str) -> Conversation:
    tools = [tool.definition() for tool in TOOLS]
    return begin(Tree(), ConversationStart(dialect, PARAMS[dialect], tools, "You help."))


def sse(*events: dict[str, Any]) -> bytes:
    return b"".join(f"event: {e.get('type', '')}\ndata: {json.dumps(e)}\n\n".encode() for e in events)


def _anthropic() -> bytes:
    def delta(kind: str, key: str, words: str) -> dict[str, Any]:
        return {"type": f"{kind}_delta", key: words}

    seal = delta("signature", "signature", "c2lnbg==")
    tool = {"type": "tool_use", "id": "t1", "name": "read_file", "input": {}}
    given = [delta("input_json", "partial_json", words) for words in ('{"path":', '"a"}')]
    blocks: list[tuple[dict[str, Any], list[dict[str, Any]]]] = [
        ({"type": "thinking", "thinking": "", "signature": ""}, [delta("thinking", "thinking", "I look"), seal]),
        ({"type": "text", "text": ""}, [delta("text", "text", "Let me "), delta("text", "text", "see")]),
        (tool, given),
        ({"type": "tool_use", "id": "t2", "name": "list_dir", "input": {}}, []),
    ]
    usage = {"input_tokens": 10, "output_tokens": 1}
    message = {"id": "m1", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": usage}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": message}]
    for n, (start, deltas) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": n, "content_block": start})
        events += [{"type": "content_block_delta", "index": n, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": n})
    events += [
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 20}},
        {"type": "message_stop"},
    ]
    return sse(*events)


def _chat() -> bytes:
    def chunk(**delta: Any) -> dict[str, Any]:
        return {"id": "c1", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}

    first = {"index": 0, "id": "t1", "type": "function", "function": {"name": "read_file", "arguments": '{"path"'}}
    second = {"index": 1, "id": "", "type": "function", "function": {"name": "list_dir", "arguments": "{}"}}
    events = [
        chunk(role="assistant", content=""), chunk(reasoning_content="I look"), chunk(content="Let me "),
        chunk(content="see"), chunk(tool_calls=[first]),
        chunk(tool_calls=[{"index": 0, "function": {"arguments": ':"a"}'}}]), chunk(tool_calls=[second]),
    ]  # fmt: skip
    last = chunk()
    last["choices"][0]["finish_reason"] = "tool_calls"
    return b"".join(f"data: {json.dumps(e)}\n\n".encode() for e in [*events, last]) + b"data: [DONE]\n\n"


def _responses() -> bytes:
    call = {"type": "function_call", "id": "f1", "call_id": "t1", "name": "read_file", "arguments": ""}
    reason = {"type": "reasoning", "id": "r1", "summary": [], "encrypted_content": "xyz"}
    message = {"type": "message", "id": "m1", "role": "assistant", "status": "in_progress", "content": []}
    done = {**message, "status": "completed", "content": [{"type": "output_text", "text": "Let me see"}]}
    whole = {**call, "arguments": '{"path":"a"}'}
    base = {"id": "resp1", "model": "m", "status": "in_progress", "output": []}
    delta = "response.output_text.delta"
    return sse(
        {"type": "response.created", "response": base},
        {"type": "response.output_item.added", "output_index": 0, "item": reason},
        {"type": "response.output_item.done", "output_index": 0, "item": reason},
        {"type": "response.output_item.added", "output_index": 1, "item": message},
        {"type": delta, "output_index": 1, "content_index": 0, "delta": "Let me "},
        {"type": delta, "output_index": 1, "content_index": 0, "delta": "see"},
        {"type": "response.output_item.done", "output_index": 1, "item": done},
        {"type": "response.output_item.added", "output_index": 2, "item": call},
        {"type": "response.function_call_arguments.delta", "output_index": 2, "delta": '{"path":"a"}'},
        {"type": "response.output_item.done", "output_index": 2, "item": whole},
        {"type": "response.completed", "response": {**base, "status": "completed", "output": [reason, done, whole]}},
    )


def _ollama() -> bytes:
    named = (("read_file", {"path": "a"}), ("list_dir", {}))
    calls = [{"function": {"name": name, "arguments": given}} for name, given in named]
    lines: list[dict[str, Any]] = [{"role": "assistant", "content": "", "thinking": "I look"}]
    lines += [{"role": "assistant", "content": words} for words in ("Let me ", "see")]
    lines += [{"role": "assistant", "content": "", "tool_calls": [call]} for call in calls]
    chunks = [{"model": "m", "message": message, "done": False} for message in lines]
    end = {"model": "m", "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"}
    told = {**end, "prompt_eval_count": 9, "eval_count": 3}
    return b"".join(json.dumps(chunk).encode() + b"\n" for chunk in [*chunks, told])


def _google() -> bytes:
    parts = [
        {"text": "I look", "thought": True}, {"text": "Let me "}, {"text": "see"},
        {"functionCall": {"id": "t1", "name": "read_file", "args": {"path": "a"}}, "thoughtSignature": "c2ln"},
        {"functionCall": {"name": "list_dir", "args": {}}},
    ]  # fmt: skip
    chunks: list[dict[str, Any]] = [{"candidates": [{"content": {"parts": [p], "role": "model"}}]} for p in parts]
    chunks[-1]["candidates"][0]["finishReason"] = "STOP"
    chunks[-1]["usageMetadata"] = {"promptTokenCount": 9, "candidatesTokenCount": 3}
    return b"".join(f"data: {json.dumps(chunk)}\r\n\r\n".encode() for chunk in chunks)


STREAMS = {
    "anthropic": _anthropic(),
    "openai_chat": _chat(),
    "openai_responses": _responses(),
    "ollama_chat": _ollama(),
    "google": _google(),
}


def heard(dialect: str, data: bytes) -> Response:
    reader, parser = DIALECTS[dialect].stream_reader(), EventParser()
    reader.feed(parser.feed(data))
    reader.feed(parser.close())
    return reader.response()


def legal(conversation: Conversation) -> bytes:
    body = conversation.draft().body
    assert check(conversation.dialect, body) == []
    return body


@EVERY
def test_the_bytes_read_back_as_the_context(dialect: str) -> None:
    talk = begun(dialect)
    talk.add_user_message("look at a – bitte")
    first = legal(talk)
    settled = talk.add_answer(heard(dialect, STREAMS[dialect]))
    assert [call.name for call in settled.calls][:1] == ["read_file"] and settled.calls[0].input == {"path": "a"}
    talk.add_results([Result(call.id, "", f"said {call.name}") for call in settled.calls])
    talk.add_user_message("thanks")
    draft = talk.draft()
    legal(talk)
    back = DIALECTS[dialect].decode_request(draft.body, None)
    assert list(back.items) == talk.tree.items(draft.sent_head)
    assert back.skeleton == draft.skeleton
    assert draft.body == encode(Request(tuple(talk.tree.items(draft.sent_head)), draft.skeleton))
    # What was sent before is the beginning of what is sent now: the cache can read it.
    shared = first.rindex(b"]")
    assert draft.body[:shared] == first[:shared]


@EVERY
def test_an_image_of_a_result_is_sent_and_is_nobodys_turn(dialect: str) -> None:
    talk = begun(dialect)
    talk.add_user_message("look")
    turn = talk.tree[talk.head].turn
    settled = talk.add_answer(heard(dialect, STREAMS[dialect]))
    first, *rest = settled.calls
    picture = ResultImage("image/png", PNG)
    talk.add_results(
        [Result(first.id, "", "a picture", False, (picture,)), *(Result(one.id, "", "no") for one in rest)]
    )
    assert PNG in legal(talk).decode() and talk.tree[talk.head].turn == turn and talk.open_calls() == []
    kinds = [media.media_type for node in talk.tree.path(talk.head) for media in read(talk.tree[node].block).media]
    assert len(kinds) == 1
    talk.add_user_message("thanks")
    legal(talk)
    assert talk.tree[talk.head].turn == turn + 1


@EVERY
def test_calls_without_an_id_get_one(dialect: str) -> None:
    if dialect != "openai_chat":
        return
    talk = begun(dialect)
    talk.add_user_message("x")
    ids = [call.id for call in talk.add_answer(heard(dialect, STREAMS[dialect])).calls]
    assert len(set(ids)) == 2 and all(ids)


@EVERY
@given(st.data())
@settings(max_examples=60, deadline=None)
def test_an_answer_cut_anywhere_leaves_a_legal_context(dialect: str, data: st.DataObject) -> None:
    stream = STREAMS[dialect]
    cut = data.draw(st.integers(0, len(stream)))
    talk = begun(dialect)
    talk.add_user_message("look")
    settled = talk.add_answer(heard(dialect, stream[:cut]), cut=True)
    talk.add_results([Result(call.id, "", "stopped", True) for call in settled.calls])
    talk.add_user_message("go on")
    legal(talk)


@EVERY
@pytest.mark.parametrize("source", list(PARAMS))
def test_going_on_from_a_context_of_another_dialect(dialect: str, source: str) -> None:
    old = begun(source)
    old.add_user_message("look")
    settled = old.add_answer(heard(source, STREAMS[source]))
    old.add_results([Result(call.id, "", "text") for call in settled.calls])
    before = [item for item in old.tree.items(old.head) if item.place.section == "messages"]
    before = [item for item in before if item.place.role != "system"]
    new = begin(
        Tree(), ConversationStart(dialect, PARAMS[dialect], [t.definition() for t in TOOLS], "You help.", before)
    )
    new.add_user_message("and now?")
    body = json.loads(legal(new))
    assert b"Let me see" in new.draft().body and "read_file" in json.dumps(body)


@EVERY
def test_going_on_in_the_same_dialect_changes_nothing(dialect: str) -> None:
    talk = begun(dialect)
    talk.add_user_message("look")
    settled = talk.add_answer(heard(dialect, STREAMS[dialect]))
    assert [call.name for call in talk.open_calls()] == [call.name for call in settled.calls]
    talk.add_results([Result(call.id, "", "text") for call in settled.calls])
    assert talk.open_calls() == []
    again = resume(talk.tree, talk.head, dialect, PARAMS[dialect])
    assert again.draft() == talk.draft()


def test_other_tools_leave_out_thinking_that_is_bound_to_them() -> None:
    say = [
        {"role": "user", "content": "hi"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s" * 24},
                {"type": "text", "text": "hello"},
            ],
        },
    ]
    tools = [{"name": "a", "description": "A", "input_schema": {"type": "object"}}]
    body = {"model": "m", "max_tokens": 9, "tools": tools, "system": "be brief", "messages": say}
    request = DIALECTS["anthropic"].decode_request(dumps(body), None)
    tree = Tree()
    talk = resume(tree, tree.extend(ROOT, request.items), "anthropic", {"model": "m", "max_tokens": 9})
    other = with_tools(talk, [*tools, {"name": "b", "description": "B", "input_schema": {"type": "object"}}])
    other.add_user_message("go on")
    sent = loads(other.draft().body)
    assert [tool["name"] for tool in sent["tools"]] == ["a", "b"] and "be brief" in dumps(sent["system"]).decode()
    assert [one["role"] for one in sent["messages"]] == ["user", "assistant", "user"]
    assert [part["type"] for part in sent["messages"][1]["content"]] == ["text"]
    assert with_tools(other, tools).draft().body != talk.draft().body, "the thinking is gone"
