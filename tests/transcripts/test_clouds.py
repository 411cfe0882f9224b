"""Models at other addresses: Bedrock's event streams, Claude at Vertex AI, Gemini with a login.

Amazon's own parser reads the same streams in `tests/clients/test_bedrock`.
"""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxtui.analysis.read.searches import is_linked
from ctxtui.core.block_content import read as read_block
from ctxtui.core.call import COUNTED
from ctxtui.core.tree import ROOT, Tree
from ctxtui.pricing.price import price_call
from ctxtui.services.config.package_data import price_table
from ctxtui.transcripts.kit.http_exchange.decode import decode
from ctxtui.transcripts.kit.http_exchange.pair import Exchange
from ctxtui.wire.amazon_event_stream import parse_event_stream
from tests.cases import amazon_stream as amazon
from tests.cases import wire_traffic as cases
from tests.transcripts.reading import as_bytes, calls, read

MODEL = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
BEDROCK = "https://bedrock-runtime.us-east-1.amazonaws.com/model"
VERTEX = "https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/us-east5/publishers/anthropic/models"
CONVERSE_URL = f"{BEDROCK}/{MODEL.replace(':', '%3A')}/converse-stream"
CLAUDE = {"anthropic_version": "x", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
EVENTS: list[dict[str, Any]] = [
    {
        "type": "message_start",
        "message": {
            "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": [],
            "usage": {"input_tokens": 5, "cache_read_input_tokens": 7, "output_tokens": 1},
        },
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hello"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 3}},
    {"type": "message_stop", "amazon-bedrock-invocationMetrics": {"inputTokenCount": 5}},
]  # fmt: skip


def recorded(url: str, request: Any, answer: bytes) -> bytes:
    """A HAR with one exchange, whose answer is binary."""
    content = {"mimeType": "application/vnd.amazon.eventstream", "encoding": "base64"}
    content["text"] = base64.b64encode(answer).decode()
    entry = {
        "startedDateTime": "2026-01-01T00:00:00.000Z", "time": 1500.0,
        "request": {"method": "POST", "url": url, "postData": {"text": cases.body(request)}},
        "response": {"status": 200, "content": content},
    }  # fmt: skip
    return as_bytes({"log": {"version": "1.2", "creator": {"name": "proxy"}, "entries": [entry]}})


def test_a_stream_of_converse_opens_with_its_figures() -> None:
    data = recorded(CONVERSE_URL, cases.converse()[1], b"".join(amazon.converse(["Hel", "lo"])))
    session = read(data, "a.har")
    (call,) = calls(session)
    assert (call.model, call.provider, call.stop_reason, call.error) == (MODEL, "aws", "tool_use", "")
    assert call.usage is not None and (call.usage.fresh, call.usage.cache_read, call.usage.write_5m) == (4, 6, 2)
    items = session.tree.items(call.response_head)[-3:]
    assert [item.block.kind for item in items] == ["thinking", "text", "tool_use"]
    assert [read_block(item.block).text for item in items[:2]] == ["I think.", "Hello"]
    assert items[2].block.value()["input"] == {"path": "a.txt"}
    assert price_call(call, price_table()).usd > 0


@pytest.mark.parametrize(
    ("url", "model"),
    [
        (f"{BEDROCK}/{MODEL}/invoke-with-response-stream", MODEL),
        (f"{VERTEX}/claude-sonnet-4-5@20250929:streamRawPredict", "claude-sonnet-4-5@20250929"),
    ],
)
def test_claude_elsewhere_is_claude(url: str, model: str) -> None:
    stream = (
        amazon.invoke(EVENTS)
        if "invoke" in url
        else b"".join(b"data: " + cases.body(one).encode() + b"\n\n" for one in EVENTS)
    )
    found = decode(Exchange(cases.body(CLAUDE).encode(), stream, url=url, status=200))
    assert found is not None and found.dialect == "anthropic" and found.model == model
    assert found.skeleton is not None and found.response.complete
    assert found.response.usage is not None and found.response.usage.input == 12
    assert read_block(found.response.items[-1].block).text == "hello"
    (call,) = calls(read(recorded(url, CLAUDE, stream), "a.har"))
    assert price_call(call, price_table()).usd > 0 and call.skeleton is not None


@pytest.mark.parametrize("streamed", [False, True])
def test_what_gemini_cli_asks_with_a_login_is_googles_inside(streamed: bool) -> None:
    _, request, _, answer = cases.google()
    wrapped = {"model": "gemini-9-pro", "project": "p", "user_prompt_id": "u", "request": request}
    told = cases.body({"response": answer, "traceId": "t"}).encode()
    method = "streamGenerateContent?alt=sse" if streamed else "generateContent"
    url = f"https://cloudcode-pa.googleapis.com/v1internal:{method}"
    raw = b"data: " + told + b"\n\n" if streamed else told
    found = decode(Exchange(cases.body(wrapped).encode(), raw, url=url, status=200))
    plain = decode(
        Exchange(cases.body(request).encode(), cases.body(answer).encode(), url=cases.GOOGLE_URL, status=200)
    )
    assert found is not None and plain is not None
    assert (found.items, found.response, found.params) == (plain.items, plain.response, plain.params)
    assert found.model == "gemini-9-pro" and found.skeleton is None


def test_vertex_counts_tokens_at_a_path_of_its_own() -> None:
    url = f"{VERTEX}/count-tokens:rawPredict"
    body = cases.body({**CLAUDE, "model": "claude-sonnet-4-5"}).encode()
    found = decode(Exchange(body, b'{"input_tokens": 9}', url=url, status=200))
    assert found is not None and found.response.stop_reason == COUNTED and found.model == "claude-sonnet-4-5"


def converse_answer(content: list[Any], *, streamed: list[bytes] | None = None) -> list[Any]:
    """The blocks of an answer of Converse, complete or as a stream."""
    end = [amazon.event("messageStop", {"stopReason": "end_turn"})]
    body = {"output": {"message": {"role": "assistant", "content": content}}, "stopReason": "end_turn"}
    raw = cases.body(body).encode() if streamed is None else b"".join([*streamed, *end])
    url = CONVERSE_URL if streamed is not None else CONVERSE_URL.removesuffix("-stream")
    found = decode(Exchange(b'{"messages":[]}', raw, url=url, status=200))
    assert found is not None and found.response.complete
    return [item.block for item in found.response.items[1:]]


@pytest.mark.parametrize(
    ("kind", "format_", "media_type"),
    [
        ("image", "jpeg", "image/jpeg"),
        ("image", "webp", "image/webp"),
        ("document", "pdf", "application/pdf"),
        ("document", "md", "text/markdown"),
        ("document", "docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
        ("document", "xls", "application/vnd.ms-excel"),
    ],
)
@pytest.mark.parametrize("source", [{"bytes": "aGk="}, {"s3Location": {"uri": "s3://b/a"}}])
def test_the_media_type_of_converse_is_that_of_its_format(
    kind: str, format_: str, media_type: str, source: dict[str, Any]
) -> None:
    (block,) = converse_answer([{kind: {"format": format_, "name": "a", "source": source}}])
    (media,) = read_block(block).media
    assert block.kind == kind and media.media_type == media_type and (media.data or media.url)


CITATION = {"title": "T", "location": {"documentPage": {"documentIndex": 0, "start": 1, "end": 2}}}


def delta(index: int, value: Any) -> bytes:
    return amazon.event("contentBlockDelta", {"contentBlockIndex": index, "delta": value, "p": "ab"})


@pytest.mark.parametrize("streamed", [False, True])
def test_a_text_of_converse_with_citations_is_read(streamed: bool) -> None:
    content = [{"citationsContent": {"content": [{"text": "It is "}, {"text": "so."}], "citations": [CITATION]}}]
    events = [delta(0, {"text": "It is "}), delta(0, {"citation": CITATION}), delta(0, {"text": "so."})]
    (block,) = converse_answer(content, streamed=events if streamed else None)
    assert (block.kind, read_block(block).text) == ("text", "It is so.")
    assert block.value()["citations"] == [CITATION]


def test_a_result_that_streams_is_read() -> None:
    start = {"toolResult": {"toolUseId": "u", "type": "x_result", "status": "error"}}
    events = [
        amazon.event("contentBlockStart", {"contentBlockIndex": 0, "start": start}),
        delta(0, {"toolResult": [{"text": "no "}]}),
        delta(0, {"toolResult": [{"text": "file"}, {"json": {"n": 1}}]}),
        amazon.event("contentBlockStop", {"contentBlockIndex": 0}),
    ]
    (block,) = converse_answer([], streamed=events)
    content = read_block(block)
    assert (block.kind, content.call_id, content.is_error) == ("tool_result", "u", True)
    assert content.text == 'no file\n{"n":1}'


def test_an_image_that_streams_is_read() -> None:
    events = [
        amazon.event("contentBlockStart", {"contentBlockIndex": 0, "start": {"image": {"format": "png"}}}),
        *(delta(0, {"image": {"source": {"bytes": base64.b64encode(piece).decode()}}}) for piece in (b"abcd", b"ef")),
    ]
    (block,) = converse_answer([], streamed=events)
    (media,) = read_block(block).media
    assert (media.media_type, base64.b64decode(media.data)) == ("image/png", b"abcdef")


def test_other_parts_of_converse_are_read() -> None:
    search = {"source": "s", "title": "t", "content": [{"text": "found"}], "citations": {"enabled": True}}
    result, guarded = converse_answer([{"searchResult": search}, {"guardContent": {"text": {"text": "careful"}}}])
    assert result.kind == "search_result" and "found" in read_block(result).text
    assert read_block(guarded).text == "careful"


@given(cut=st.integers(0, 2000))
def test_a_stream_cut_anywhere_gives_what_came(cut: int) -> None:
    messages = amazon.converse(["Hel", "lo"])
    whole = b"".join(messages)
    events = parse_event_stream(whole[:cut])
    assert events == parse_event_stream(whole)[: len(events)]
    answer = decode(Exchange(b'{"messages":[]}', whole[:cut], url=CONVERSE_URL, status=200))
    assert answer is not None and answer.response.complete == (cut == 0 or len(events) >= len(messages) - 1)


@given(at=st.integers(0, 400), value=st.integers(1, 255))
def test_a_damaged_message_ends_the_stream(at: int, value: int) -> None:
    data = bytearray(b"".join(amazon.converse(["Hello"])[:2]))
    at %= len(data)
    data[at] ^= value
    assert len(parse_event_stream(bytes(data))) < 2


def test_an_exception_is_the_answers_error() -> None:
    stream = amazon.converse(["Hel"])[0] + amazon.exception("throttlingException", "Too many tokens")
    found = decode(Exchange(b'{"messages":[]}', stream, url=CONVERSE_URL, status=200))
    assert found is not None
    assert (found.response.error, found.response.complete) == ("throttlingException: Too many tokens", False)


def test_a_tools_whole_input_stays() -> None:
    start = {"toolUse": {"toolUseId": "t1", "name": "read", "input": {"path": "a.txt"}}}
    stream = amazon.event("contentBlockStart", {"contentBlockIndex": 0, "start": start})
    found = decode(Exchange(b'{"messages":[]}', stream, url=CONVERSE_URL, status=200))
    assert found is not None and found.response.items[-1].block.member("input") == {"path": "a.txt"}


def test_tools_and_documents_of_converse_are_in_anthropics_spelling() -> None:
    documents: list[Any] = [
        {"format": "pdf", "name": "d", "source": {"bytes": "JVBERg=="}},
        {"format": "txt", "name": "d", "source": {"text": "a b c"}},
        {"name": "d", "source": {"content": [{"text": "a part"}]}, "citations": {"enabled": True}},
        {"format": "csv", "name": "d", "source": {"later": 1}},
        {"name": "d", "source": {"bytes": "JVBERg=="}},
        {"format": "pdf", "name": "d", "source": {"s3Location": {"uri": "s3://b/d.pdf"}}},
    ]
    schema = {"type": "object"}
    request = {
        "toolConfig": {"tools": [{"toolSpec": {"name": "t", "inputSchema": {"json": schema}}}]},
        "messages": [{"role": "user", "content": [{"document": document} for document in documents]}],
    }
    found = decode(Exchange(cases.body(request).encode(), b"", url=CONVERSE_URL, status=200))
    assert found is not None
    tool, _, *parts = (item.block.value() for item in found.items)
    assert tool == {"name": "t", "input_schema": schema}
    assert [part["source"] for part in parts] == [
        {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="},
        {"type": "text", "media_type": "text/plain", "data": "a b c"},
        {"type": "content", "content": [{"type": "text", "text": "a part"}]},
        {"media_type": "text/csv", "later": 1},
        {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="},
        {"type": "url", "url": "s3://b/d.pdf", "uri": "s3://b/d.pdf", "media_type": "application/pdf"},
    ]
    assert {part["title"] for part in parts} == {"d"} and parts[2]["citations"] == {"enabled": True}
    tree = Tree()
    tree.extend(ROOT, found.items)
    assert [is_linked(tree, node) for node in range(len(tree) - len(parts), len(tree))] == [
        False, False, False, True, False, True,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("url", "host", "path"),
    [
        ("http://me:it@[::1]:11434/api/chat?to=https://z/", "[::1]", "/api/chat"),
        ("https://Api.OpenAI.com:443/v1/responses", "api.openai.com", "/v1/responses"),
        ("api.openai.com/v1/responses", "api.openai.com", "/v1/responses"),
        ("/v1/messages/count_tokens?u=https://z/", "", "/v1/messages/count_tokens"),
        ("", "", "/"),
    ],
)
def test_an_address_with_or_without_its_scheme(url: str, host: str, path: str) -> None:
    exchange = Exchange(b"", url=url)
    assert (exchange.host, exchange.path) == (host, path)


@pytest.mark.parametrize("url", [CONVERSE_URL, "https://api.cohere.com/v2/chat"])
def test_an_answer_without_its_message_is_an_error(url: str) -> None:
    found = decode(Exchange(b'{"messages":[]}', b"{}", url=url, status=200))
    assert found is not None and found.response.error
