"""Cassettes of both languages; and what exchanges come to, whatever recorded them."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from ctxtui.core.call import Call, Fidelity
from ctxtui.core.session import Session
from ctxtui.transcripts.formats import vcr
from ctxtui.transcripts.registry import describe_file
from ctxtui.wire.registry import encode
from ctxtui.wire.request import Request
from tests.cases import wire_traffic as cases
from tests.cases.wire_traffic import Pair
from tests.corpus import corpus_params
from tests.transcripts.reading import calls, corpus_session, law_2, read, shown, survives_cuts, survives_values, total

NAME = "a.yaml"


def python_cassette(pairs: Sequence[Pair], parsed: bool = False) -> bytes:
    """As vcrpy writes it; `parsed` as pydantic-ai's serialiser does."""
    entries = []
    for url, request, status, answer in pairs:
        if parsed and not isinstance(answer, str):
            asked: dict[str, Any] = {"parsed_body": request}
            told: dict[str, Any] = {"parsed_body": answer}
        else:
            asked = {"body": cases.body(request)}
            told = {"body": {"string": gzip.compress(cases.body(answer).encode(), mtime=0)}}
        asked |= {"method": "POST", "uri": url, "headers": {}}
        entries.append({"request": asked, "response": {**told, "status": {"code": status, "message": "x"}}})
    return yaml.safe_dump({"interactions": entries, "version": 1}, sort_keys=False).encode()


def ruby_cassette(pairs: Sequence[Pair]) -> bytes:
    """As Ruby's VCR writes it, with bodies in its own binary tag."""
    lines = ["---", "http_interactions:"]
    for url, request, status, answer in pairs:
        packed = base64.b64encode(cases.body(answer).encode()).decode()
        lines += [
            "- request:", "    method: post", f"    uri: {url}", "    body:", "      encoding: UTF-8",
            f"      string: {json.dumps(cases.body(request))}", "  response:", "    status:", f"      code: {status}",
            "      message: OK", "    body:", "      encoding: ASCII-8BIT",
            "      string: !binary |-", f"        {packed}",
            "  recorded_at: Tue, 14 Oct 2025 09:00:01 GMT",
        ]  # fmt: skip
    return "\n".join([*lines, "recorded_with: VCR 6.3.1", ""]).encode()


def only(pair: Pair) -> tuple[Session, Call]:
    session = read(python_cassette([pair]), NAME)
    (call,) = calls(session)
    return session, call


@pytest.mark.parametrize("make", [python_cassette, ruby_cassette, lambda pairs: python_cassette(pairs, parsed=True)])
def test_every_api_in_every_spelling(make: Any) -> None:
    data = make(cases.every())
    session = read(data, NAME)
    assert len(session.calls) == 7 and [h.kind for h in session.happenings] == ["other request"]
    assert [c.provider for c in session.calls.values()] == [
        "anthropic", "anthropic", "openai", "openai", "google", "aws", "cohere",
    ]  # fmt: skip
    whole = total(session)
    assert (whole.input, whole.cache_read, whole.cache_write) == (15 + 11 + 20 + 40 + 12 + 50, 7 + 16 + 8 + 6 + 48, 5)
    assert whole.output == 2 + 4 + 3 + 11 + 1 + 3
    assert all(call.fidelity is Fidelity.WIRE for call in session.calls.values())
    law_2(data, NAME)


@pytest.mark.parametrize("value", ["one-2026-01-01,two-2026-02-02", ["one-2026-01-01", "two-2026-02-02"]])
def test_the_beta_features_of_a_request_are_those_of_its_header(value: Any) -> None:
    cassette = yaml.safe_load(python_cassette([cases.anthropic()]))
    cassette["interactions"][0]["request"]["headers"] = {"Anthropic-Beta": value}
    (call,) = calls(read(yaml.safe_dump(cassette).encode(), NAME))
    assert call.extra["betas"] == ["one-2026-01-01", "two-2026-02-02"]


def test_a_mapping_as_body_is_the_body() -> None:
    url, request, status, answer = cases.every()[0]
    entry = {
        "request": {"method": "POST", "uri": url, "headers": {}, "body": request},
        "response": {"status": {"code": status, "message": "x"}, "body": answer},
    }
    data = yaml.safe_dump({"interactions": [entry], "version": 1}, sort_keys=False).encode()
    (call,) = calls(read(data, NAME))
    (other,) = calls(read(python_cassette([cases.every()[0]]), NAME))
    assert call.usage == other.usage and call.model == other.model and call.usage is not None


def test_a_request_is_spelled_again_byte_for_byte() -> None:
    pair = cases.anthropic()
    session, call = only(pair)
    assert call.skeleton is not None
    again = encode(Request(tuple(session.tree.items(call.raw_head)), call.skeleton))
    assert again == cases.body(pair[1]).encode()
    assert call.stop_reason == "end_turn" and call.id == "msg_1" and call.model == "claude-x-1"


def test_a_refused_request_is_a_call_with_its_error() -> None:
    _, call = only(cases.refused())
    assert call.error == "invalid_request_error: no such model" and call.extra["status"] == 404
    assert call.usage is None and call.response_head == call.raw_head


def test_google_blocks_and_usage() -> None:
    session, call = only(cases.google())
    assert call.usage and (call.usage.fresh, call.usage.cache_read, call.usage.reasoning) == (32, 8, 6)
    assert call.skeleton is not None and call.model == "gemini-9"
    sent = Request(tuple(session.tree.items(call.raw_head)), call.skeleton)
    assert encode(sent) == cases.body(cases.google()[1]).encode()
    assert sent.params == {"generationConfig": {"temperature": 0}}
    assert shown(session, call.response_head) == [
        ("tools", "", "tool"), ("system", "", "text"),
        ("messages", "user", "header"), ("messages", "user", "text"),
        ("messages", "model", "header"), ("messages", "model", "function_call"),
        ("messages", "user", "header"), ("messages", "user", "function_response"),
        ("messages", "model", "header"), ("messages", "model", "thinking"), ("messages", "model", "text"),
    ]  # fmt: skip


def test_converse_markers_are_no_content() -> None:
    session, call = only(cases.converse())
    assert call.model == "us.some%2Dmodel-v1:0" and call.usage and call.usage.input == 12
    assert [kind for _, _, kind in shown(session, call.raw_head)] == [
        "tool", "text", "header", "text", "header", "tool_use", "header", "tool_result",
    ]  # fmt: skip


def test_what_the_server_holds_is_rebuilt() -> None:
    first = cases.responses("resp_1", None, "My name is Ann.", "Hello Ann")
    second = cases.responses("resp_2", "resp_1", "What is my name?", "Ann")
    session = read(python_cassette([first, second]), NAME)
    one, two = calls(session)
    texts = [i.block.value().get("text") for i in session.tree.items(two.raw_head) if i.block.kind != "header"]
    assert texts == ["Be kind.", "My name is Ann.", "Hello Ann", "What is my name?"]
    assert session.tree.holds(two.raw_head, one.response_head) and "tail_only" not in two.extra
    assert two.skeleton is not None
    again = encode(Request(tuple(session.tree.items(two.raw_head)), two.skeleton))
    assert again == cases.body(second[1]).encode()


def test_what_is_not_here_is_named_so() -> None:
    _, call = only(cases.responses("resp_2", "resp_1", "What is my name?", "Ann"))
    assert call.extra["tail_only"] is True and call.fidelity is Fidelity.TRANSCRIPT


def test_talks_with_other_first_words_are_other_threads() -> None:
    session = read(python_cassette([cases.anthropic(), cases.anthropic_stream()]), NAME)
    assert list(session.threads) == ["main", "thread-2"]
    assert session.threads["thread-2"].label == "Hello there"


def test_a_cassette_without_model_traffic() -> None:
    data = python_cassette([cases.elsewhere()])
    session = read(data, NAME)
    assert not session.calls and all(t.tip == 0 for t in session.threads.values())
    assert describe_file(data, NAME) == "a VCR cassette without model traffic"


def test_a_cut_cassette_gives_what_is_whole() -> None:
    data = python_cassette(cases.every()[:3])
    session = read(data[: data.rindex(b"- request") + 90], NAME)
    assert len(session.calls) == 2
    survives_cuts(data, NAME, 25)


def test_endless_aliases_are_refused() -> None:
    lines = ["interactions:", "- &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"- &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    _, tail = vcr.load("\n".join(lines).encode())
    assert tail is not None and "without end" in tail.reason


@pytest.mark.parametrize("path", corpus_params("vcr"))
def test_corpus(path: Path) -> None:
    data = path.read_bytes()
    session = read(data, path.name)
    assert not session.skipped
    if not session.calls:
        assert len(session.happenings) > 0
        return
    corpus_session(path)
    for call in session.calls.values():
        if call.skeleton is not None and "tail_only" not in call.extra:
            assert encode(Request(tuple(session.tree.items(call.raw_head)), call.skeleton))
        nothing_said = call.stop_reason == "count_tokens" or call.fidelity == Fidelity.TOTALS
        assert call.error or call.response_head != call.raw_head or nothing_said


def test_values_of_any_type_stop_no_reader() -> None:
    value = yaml.safe_load(python_cassette(cases.every(), parsed=True))
    for n in range(len(value["interactions"])):
        one = {**value, "interactions": value["interactions"][n : n + 1]}
        survives_values(one, NAME, lambda v: yaml.safe_dump(v, sort_keys=False).encode(), most=60)


@pytest.mark.parametrize("body", ["{model: m, 1: x, k: !!binary aGk=, s: !!set {a, b}, %s}", "{model: .nan, %s}"])
@pytest.mark.parametrize("member", ["body", "parsed_body"])
def test_values_that_only_yaml_has(member: str, body: str) -> None:
    body %= "messages: [{role: user, content: Hi}]"
    data = f"""interactions:
- request:
    uri: https://api.openai.com/v1/chat/completions
    headers: {{1: 2, ~: [x]}}
    {member}: {body}
  response: {{status: 200}}
"""
    (call,) = calls(session := read(data.encode(), NAME))
    assert [kind for *_, kind in shown(session, call.raw_head)] == ["header", "text"]


def test_an_interaction_that_is_no_object_is_passed_over() -> None:
    session = read(b'{"interactions": [5, {"request": {"body": {"model": "m", "messages": []}}}]}', NAME)
    assert [one.reason for one in session.skipped] == ["an interaction without request @ $.interactions[0]"]
