"""Streams: any chunking gives the same answer, the same as in one piece; a cut one gives what came (law 2)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxtui.core import canonical
from ctxtui.wire.registry import DIALECTS
from ctxtui.wire.request import Response
from ctxtui.wire.sse import EventParser, parse_stream
from ctxtui.wire.stream import Delta, merge_delta
from tests.corpus import corpus_params
from tests.wire.hostile import WORDS as ANY_WORDS
from tests.wire.streamed import STREAMS, event

# A stream is made of whole characters.
WORDS = ANY_WORDS.map(lambda text: text.encode("utf-8", "replace").decode())
OBJECTS = st.dictionaries(WORDS, st.one_of(WORDS, st.integers(), st.lists(st.none())), max_size=2)
ANTHROPIC = st.fixed_dictionaries(
    {
        "id": st.just("msg_1"),
        "type": st.just("message"),
        "role": st.just("assistant"),
        "content": st.lists(
            st.one_of(
                st.fixed_dictionaries({"type": st.just("text"), "text": WORDS}),
                st.fixed_dictionaries({"type": st.just("thinking"), "thinking": WORDS, "signature": WORDS}),
                st.fixed_dictionaries(
                    {"type": st.just("tool_use"), "id": st.just("t"), "name": WORDS, "input": OBJECTS}
                ),
                st.fixed_dictionaries({"type": st.just("redacted_thinking"), "data": WORDS}),
            ),
            max_size=3,
        ),
        "model": st.just("m"),
        "stop_reason": st.sampled_from(["end_turn", "tool_use"]),
        "usage": st.fixed_dictionaries({"input_tokens": st.integers(0, 9), "output_tokens": st.integers(0, 99)}),
    }
)
CALL = st.tuples(st.uuids().map(str), WORDS).map(
    lambda x: {"id": x[0], "type": "function", "function": {"name": "f", "arguments": x[1]}}
)
CHAT_MESSAGE = st.one_of(
    st.fixed_dictionaries({"role": st.just("assistant"), "content": WORDS}),
    st.fixed_dictionaries(
        {"role": st.just("assistant"), "content": st.none(), "tool_calls": st.lists(CALL, min_size=1, max_size=3)},
        optional={"reasoning_content": WORDS},
    ),
)
CHAT = CHAT_MESSAGE.map(
    lambda message: {
        "id": "c",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7},
    }
)
ITEM = st.one_of(
    st.fixed_dictionaries(
        {
            "id": st.just("i"),
            "type": st.just("message"),
            "role": st.just("assistant"),
            "content": st.lists(
                st.fixed_dictionaries({"type": st.just("output_text"), "text": WORDS, "annotations": st.just([])}),
                max_size=2,
            ),
        }
    ),
    st.fixed_dictionaries(
        {"type": st.just("function_call"), "call_id": st.just("c"), "name": WORDS, "arguments": WORDS}
    ),
    st.fixed_dictionaries({"type": st.just("reasoning"), "summary": st.just([]), "encrypted_content": WORDS}),
)
RESPONSES = st.lists(ITEM, max_size=3).map(
    lambda output: {
        "id": "resp_1",
        "model": "m",
        "status": "completed",
        "output": output,
        "usage": {"input_tokens": 5, "output_tokens": 2},
    }
)
OLLAMA_CALL = st.fixed_dictionaries({"function": st.fixed_dictionaries({"name": WORDS, "arguments": OBJECTS})})
OLLAMA = st.fixed_dictionaries(
    {"role": st.just("assistant"), "content": WORDS},
    optional={"thinking": WORDS, "tool_calls": st.lists(OLLAMA_CALL, min_size=1, max_size=2)},
).map(
    lambda message: {
        "model": "m",
        "message": message,
        "done": True,
        "done_reason": "stop",
        "total_duration": 7,
        "prompt_eval_count": 5,
        "eval_count": 2,
    }
)
SIGNED = {"thoughtSignature": st.just("c2ln")}
GOOGLE = st.lists(
    st.one_of(
        st.fixed_dictionaries({"text": WORDS}, optional=SIGNED),
        st.fixed_dictionaries({"text": WORDS, "thought": st.just(True)}),
        st.fixed_dictionaries(
            {"functionCall": st.fixed_dictionaries({"name": WORDS, "args": OBJECTS})}, optional=SIGNED
        ),
        st.fixed_dictionaries({"inlineData": st.just({"mimeType": "image/png", "data": "iVBO"})}),
    ),
    max_size=4,
).map(
    # A signature comes with the last piece of a part.
    lambda parts: {
        "candidates": [
            {
                "content": {
                    "parts": [
                        dict(sorted(part.items(), key=lambda item: item[0] == "thoughtSignature")) for part in parts
                    ],
                    "role": "model",
                },
                "finishReason": "STOP",
                "index": 0,
            }
        ],
        "modelVersion": "m",
        "responseId": "r",
        "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 2, "totalTokenCount": 7},
    }
)
ANSWERS = {
    "anthropic": ANTHROPIC,
    "openai_chat": CHAT,
    "openai_responses": RESPONSES,
    "ollama_chat": OLLAMA,
    "google": GOOGLE,
}
NAMES = sorted(DIALECTS)


def streamed(data: bytes, name: str, cuts: list[int] | None = None) -> tuple[Response, list[Delta]]:
    parser, reader = EventParser(), DIALECTS[name].stream_reader()
    deltas: list[Delta] = []
    at = 0
    for cut in [*sorted(cuts or []), len(data)]:
        deltas += reader.feed(parser.feed(data[at:cut]))
        at = max(at, cut)
    deltas += reader.feed(parser.close())
    return reader.response(), deltas


def whole(response: Response) -> tuple[Any, ...]:
    return response.items, response.usage, response.id, response.model, response.stop_reason, response.complete


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_a_streamed_answer_is_the_answer_in_one_piece_however_it_is_cut(name: str, data: st.DataObject) -> None:
    answer = data.draw(ANSWERS[name])
    text = "".join(STREAMS[name](answer, data.draw(st.integers(0, 9))))
    text = text.replace("\n", data.draw(st.sampled_from(["\n", "\r\n", "\r"])))
    body = data.draw(st.sampled_from([b"", b"\xef\xbb\xbf", b": hello\n"])) + text.encode()
    cuts = data.draw(st.lists(st.integers(0, len(body)), max_size=6))
    expected = DIALECTS[name].decode_response(answer)
    found, deltas = streamed(body, name, cuts)
    assert found.complete and whole(found) == whole(expected)
    assert streamed(body, name) == (found, deltas)


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_a_stream_cut_anywhere_gives_what_came(name: str, data: st.DataObject) -> None:
    answer = data.draw(ANSWERS[name])
    events = list(STREAMS[name](answer))
    keep = data.draw(st.integers(0, len(events)))
    found, deltas = streamed("".join(events[:keep]).encode(), name)
    complete = DIALECTS[name].decode_response(answer)
    assert len(found.items) <= len(complete.items)
    assert not found.complete or found.stop_reason or keep == len(events)
    words = "".join(d.text for d in deltas if d.kind in ("text", "message"))
    said = "".join(i.block.value().get("text", "") for i in found.items if i.block.kind in ("text", "output_text"))
    assert words == said or found.complete


INDEXES = ("index", "output_index", "content_index", "summary_index")
HOSTILE = st.sampled_from((-1, -(10**20), 9_999, 10_000, 2**63, 10**20, True, None, "0", 1.5, [], {}))


def reindexed(value: Any, draw: st.DrawFn) -> Any:
    """`value` with hostile numbers for some of its indexes."""
    if isinstance(value, list):
        return [reindexed(one, draw) for one in value]
    if not isinstance(value, dict):
        return value
    odd = {key: draw(HOSTILE) for key in INDEXES if key in value and draw(st.booleans())}
    return {key: reindexed(item, draw) for key, item in value.items()} | odd


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_an_index_is_no_position_in_a_list(name: str, data: st.DataObject) -> None:
    sent = parse_stream("".join(STREAMS[name](data.draw(ANSWERS[name]))).encode())
    keep = data.draw(st.integers(0, len(sent)))
    odd = [e._replace(data=canonical.dump_text(reindexed(e.value(), data.draw))) if e.value() else e for e in sent]
    reader = DIALECTS[name].stream_reader()
    reader.feed(odd[:keep])
    found = reader.response()
    # At most a header and a block an event: no list is filled up to an index.
    assert len(found.items) <= 2 * keep + 1
    assert sum(len(item.block.body) for item in found.items) <= 2 * sum(len(e.data) for e in odd) + 200


@pytest.mark.parametrize("index", [-1, -7, 1, 9_999, 10_000, 10**20])
@pytest.mark.parametrize(
    ("kind", "key"), [("output_text", "content_index"), ("reasoning_summary_text", "summary_index")]
)
def test_words_at_any_index_of_a_response_are_kept_in_their_order(kind: str, key: str, index: int) -> None:
    item = {"type": "message" if key == "content_index" else "reasoning", "role": "assistant"}
    told = [{"type": "response.output_item.added", "output_index": 0, "item": item}]
    for at, words in ((0, "a"), (index, "x"), (0, "b"), (index, "y")):
        told.append({"type": f"response.{kind}.delta", "output_index": 0, key: at, "delta": words})
    found, deltas = streamed("".join(event("", one) for one in told).encode(), "openai_responses")
    assert [delta.text for delta in deltas] == ["a", "x", "b", "y"]
    body = b"".join(item.block.body for item in found.items).decode()
    assert sorted(re.findall('"text":"([^"]*)"', body)) == ["ab", "xy"]
    assert (body.index('"ab"') < body.index('"xy"')) == (index > 0)


@pytest.mark.parametrize(
    ("content", "kept"),
    [
        (3, "is a number"),
        (True, "is a boolean"),
        ("words", '"words"'),
        ({"text": "words"}, '"words"'),
        ([None], "is null"),
        ([{"text": 3}], '"text":3'),
    ],
)
def test_a_response_whose_content_is_no_list_takes_deltas(content: Any, kept: str) -> None:
    added = {"type": "response.output_item.added", "output_index": 0, "item": {"type": "message", "content": content}}
    delta = {"type": "response.output_text.delta", "output_index": 0, "content_index": 1, "delta": "new"}
    found, _ = streamed((event("", added) + event("", delta)).encode(), "openai_responses")
    said = [item.block.body.decode() for item in found.items]
    assert any('"new"' in one for one in said)
    assert any(kept in one for one in said)


@pytest.mark.parametrize("citations", [None, [], 3, "x", {"a": 1}])
def test_citations_that_are_no_list_stop_no_stream(citations: Any) -> None:
    text = {"type": "text", "text": "a", "citations": citations}
    start = {"type": "content_block_start", "index": 0, "content_block": text}
    cited = {"type": "citations_delta", "citation": {"cited_text": "b"}}
    delta = {"type": "content_block_delta", "index": 0, "delta": cited}
    found, _ = streamed((event("", start) + event("", delta)).encode(), "anthropic")
    assert found.items[1].block.value()["citations"] == [{"cited_text": "b"}]


def test_an_error_after_the_head_ends_the_answer() -> None:
    start = {"type": "message_start", "message": {"id": "m", "model": "x", "usage": {"input_tokens": 3}}}
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    found, _ = streamed((event("message_start", start) + event("error", error)).encode(), "anthropic")
    assert (found.error, found.complete) == ("overloaded_error: Overloaded", False)
    assert found.usage is not None and found.usage.fresh == 3
    chat, _ = streamed(b'data: {"error":{"message":"boom","code":500}}\n\n', "openai_chat")
    assert (chat.error, chat.complete) == ("500: boom", False)
    failed = {"type": "response.failed", "response": {"output": [], "error": {"code": "e", "message": "bad"}}}
    assert streamed(event("response.failed", failed).encode(), "openai_responses")[0].error == "e: bad"


@pytest.mark.parametrize("end", ["completed", "incomplete"])
def test_an_answer_of_responses_that_reached_its_limit_is_whole_too(end: str) -> None:
    item = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "half"}]}
    said = {"id": "r", "output": [item], "status": end, "incomplete_details": {"reason": "max_output_tokens"}}
    found, _ = streamed(event("", {"type": f"response.{end}", "response": said}).encode(), "openai_responses")
    assert found.complete and not found.error
    assert found.stop_reason == "max_output_tokens" and len(found.items) == 2


def test_a_tools_input_that_broke_off_stays_as_text() -> None:
    start = {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "t", "name": "n"}}
    delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": '{"a'}}
    found, deltas = streamed((event("", start) + event("", delta)).encode(), "anthropic")
    assert found.items[1].block.value()["input"] == '{"a'
    assert deltas == [Delta(0, "tool_use", '{"a')]


@pytest.mark.parametrize(
    "chunks",
    [
        # An index with every chunk, as OpenAI sends them.
        [{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{"}}, {"index": 1, "id": "b",
         "function": {"name": "g", "arguments": "["}}, {"index": 0, "function": {"arguments": "}"}},
         {"index": 1, "function": {"arguments": "]"}}],
        # No index, whole calls.
        [{"id": "a", "function": {"name": "f", "arguments": "{}"}}, {"id": "b",
         "function": {"name": "g", "arguments": "[]"}}],
        # Every index zero.
        [{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}, {"index": 0, "id": "b",
         "function": {"name": "g", "arguments": "["}}, {"index": 0, "function": {"arguments": "]"}}],
        # Name and id with every chunk.
        [{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{"}}, {"index": 0, "id": "a",
         "function": {"name": "f", "arguments": "}"}}, {"index": 1, "id": "b",
         "function": {"name": "g", "arguments": "[]"}}],
    ],
)  # fmt: skip
def test_parallel_calls_in_every_servers_habit(chunks: list[dict[str, Any]]) -> None:
    body = "".join(event("", {"choices": [{"index": 0, "delta": {"tool_calls": [c]}}]}) for c in chunks)
    found, _ = streamed(body.encode(), "openai_chat")
    assert [i.block.value() for i in found.items[1:]] == [
        {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}},
        {"id": "b", "type": "function", "function": {"name": "g", "arguments": "[]"}},
    ]


@pytest.mark.parametrize("before", [{"custom": None}, {"custom": "x"}, {"custom": {"name": "f"}, "function": {"a": 1}}])
def test_the_parts_of_a_call_may_first_be_of_another_type(before: dict[str, Any]) -> None:
    custom, function = {"name": "f", "input": "hi"}, {"name": "g", "arguments": "{}"}
    chunks = [{"index": 0, **before}, {"index": 0, "custom": custom}, {"index": 0, "function": function}]
    body = "".join(event("", {"choices": [{"delta": {"tool_calls": [c]}}]}) for c in chunks)
    found, _ = streamed(body.encode(), "openai_chat")
    call = found.items[1].block.value()
    assert call["custom"] == custom and call["function"].items() >= function.items()


def test_a_first_choice_without_an_end_is_interrupted_though_another_one_ended() -> None:
    """The first choice is the answer."""
    first = {"index": 0, "delta": {"content": "Hel"}}
    second = {"index": 1, "delta": {"content": "Hi"}, "finish_reason": "stop"}
    body = event("", {"choices": [first]}) + event("", {"choices": [second]})
    cut, _ = streamed(body.encode(), "openai_chat")
    assert not cut.complete
    body += event("", {"choices": [{"index": 0, "delta": {"content": "lo"}, "finish_reason": "stop"}]})
    whole, _ = streamed(body.encode(), "openai_chat")
    assert whole.complete


def test_arguments_may_come_as_an_object_and_the_end_without_done() -> None:
    call = {"index": 0, "function": {"name": "f", "arguments": {"a": 1}}}
    body = event("", {"choices": [{"delta": {"tool_calls": [call]}, "finish_reason": "stop"}]})
    found, _ = streamed(body.encode(), "openai_chat")
    assert found.items[1].block.value()["function"]["arguments"] == '{"a":1}'
    assert (found.complete, found.stop_reason) == (True, "stop")


@given(st.lists(st.binary(max_size=8), max_size=8))
def test_the_event_parser_takes_any_bytes_in_any_pieces(pieces: list[bytes]) -> None:
    parser = EventParser()
    found = [event for piece in pieces for event in parser.feed(piece)]
    assert [*found, *parser.close()] == parse_stream(b"".join(pieces))


FINE_PRINT = b"\xef\xbb\xbfevent: a\rdata: 1\r\ndata:2\n: note\nid: 7\nother: x\n\ndata\n\nevent: lone\n\ndata: end"


def test_the_event_parsers_fine_print() -> None:
    found = parse_stream(FINE_PRINT)
    assert [(e.name, e.data, e.id) for e in found] == [("a", "1\n2", "7"), ("", "", "7"), ("", "end", "7")]
    assert found[0].value() is None


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_cut_inside_a_line_end_is_no_line_end(size: int) -> None:
    parser = EventParser()
    pieces = [FINE_PRINT[at : at + size] for at in range(0, len(FINE_PRINT), size)]
    assert [*(event for piece in pieces for event in parser.feed(piece)), *parser.close()] == parse_stream(FINE_PRINT)


def test_merge_keeps_what_it_does_not_know() -> None:
    value: dict[str, Any] = {"a": "x", "b": [1], "c": {"d": "y"}, "e": 1}
    merge_delta(value, {"a": "z", "b": [2], "c": {"d": "!"}, "e": 2, "f": None, "g": 3})
    assert value == {"a": "xz", "b": [1, 2], "c": {"d": "y!"}, "e": 2, "f": None, "g": 3}


@pytest.mark.parametrize("path", corpus_params("sse"))
def test_recorded_streams(path: Path) -> None:
    data = path.read_bytes()
    found, deltas = streamed(data, "anthropic")
    assert found.complete and found.id.startswith("msg_")
    assert found.usage is not None and found.usage.input > 0
    assert len(found.items) > 1
    step = max(1, len(data) // 97)
    assert streamed(data, "anthropic", list(range(0, len(data), step))) == (found, deltas)
    half, _ = streamed(data[: len(data) // 2], "anthropic")
    assert not half.complete
    assert canonical.dumps(half.extra)
