"""HAR: model traffic among other requests, streams, base64, times."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from ctxtui.transcripts.registry import describe_file
from ctxtui.wire.grammar import OLLAMA
from tests.cases import wire_traffic as cases
from tests.cases.wire_traffic import Pair
from tests.corpus import corpus_params
from tests.transcripts.reading import as_bytes, calls, law_2, read, survives_cuts, survives_values, total

NAME = "a.har"


def har(pairs: list[Pair], packed: bool = False) -> dict[str, Any]:
    entries = []
    for url, request, status, answer in pairs:
        text = cases.body(answer)
        content = {"mimeType": "application/json", "text": text}
        if packed:
            content = {**content, "text": base64.b64encode(text.encode()).decode(), "encoding": "base64"}
        entries.append({
            "startedDateTime": "2026-01-01T00:00:00.000Z", "time": 1500.0, "timings": {"send": 100, "wait": 400},
            "request": {"method": "POST", "url": url, "postData": {"text": cases.body(request)}},
            "response": {"status": status, "content": content},
        })  # fmt: skip
    page = {"request": {"method": "GET", "url": "https://example.org/"}, "response": {"status": 200, "content": {}}}
    return {"log": {"version": "1.2", "creator": {"name": "proxy", "version": "9"}, "entries": [page, *entries]}}


@pytest.mark.parametrize("packed", [False, True])
def test_model_traffic_becomes_calls(packed: bool) -> None:
    session = read(as_bytes(har(cases.every(), packed)), NAME)
    assert len(session.calls) == 7 and total(session).output == 24
    first = calls(session)[0]
    assert (first.started, first.first_byte, first.ended) == (1767225600.0, 1767225600.5, 1767225601.5)
    assert [h.text for h in session.happenings] == ["2 requests without a context"]
    assert session.about.client == "proxy"


@pytest.mark.parametrize("stream", [True, False])
def test_ollama_is_read_in_its_own_dialect(stream: bool) -> None:
    session = read(as_bytes(har([cases.ollama(stream=stream)])), NAME)
    (call,) = calls(session)
    assert call.usage is not None and (call.usage.input, call.usage.output, call.provider) == (31, 5, "ollama")
    assert call.skeleton is not None and call.skeleton.dialect == OLLAMA and call.stop_reason == "stop"
    assert "It is two." in session.tree.items(call.response_head)[-1].block.body.decode()


def test_any_chunking_any_cut_any_value() -> None:
    every = [*cases.every(), cases.ollama(), cases.ollama(stream=False)]
    data = as_bytes(har(every), indent=1)
    law_2(data, NAME)
    survives_cuts(data, NAME)
    survives_values(har(every), NAME)


def test_the_beta_features_of_a_request_are_those_of_its_header() -> None:
    told = har([cases.anthropic()])
    told["log"]["entries"][1]["request"]["headers"] = [{"name": "anthropic-beta", "value": "one-2026-01-01"}]
    (call,) = calls(read(as_bytes(told), NAME))
    assert call.extra["betas"] == ["one-2026-01-01"]


def test_two_system_prompts_are_two_conversations_whatever_their_messages_say() -> None:
    pairs = []
    for number in range(6):
        url, request, status, answer = cases.anthropic()
        system = ("Judge it.", "Translate it.")[number % 2]
        pairs.append((url, {**request, "system": system}, status, {**answer, "id": f"msg_{number}"}))
    lines = [as_bytes({"request": request, "response": answer}) for _, request, _, answer in pairs]
    for data, name in ((as_bytes(har(pairs)), NAME), (b"\n".join(lines), "a.jsonl")):
        session = read(data, name)
        assert [len(order) for order in session.order.values()] == [3, 3]
        assert [thread.parent for thread in session.threads.values()] == ["", ""]


@pytest.mark.parametrize("path", corpus_params("har"))
def test_corpus(path: Path) -> None:
    data = path.read_bytes()
    session = read(data, path.name)
    assert not session.calls and not session.threads
    assert describe_file(data, path.name) == "a HAR file without model traffic"
