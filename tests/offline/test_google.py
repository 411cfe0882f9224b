"""Google's API of the offline provider over HTTP: a tool task, streams, caching, refusals; and Google's own client."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

import pytest

from ctxtui.offline import RunningProvider
from ctxtui.wire.registry import DIALECTS
from ctxtui.wire.sse import parse_stream
from tests.offline.loop import FILES
from tests.offline.talks import google

READ = google()["tools"]
MODEL = "gemini-3.1-pro-preview"
LONG = "All work and no play makes a dull prompt. " * 300


def said(text: str, **more: Any) -> dict[str, Any]:
    return {"contents": [{"role": "user", "parts": [{"text": text}]}], **more}


def call(running: RunningProvider, path: str, body: Any = None, method: str = "", key: str = "k") -> tuple[int, bytes]:
    """The status and the body of an answer."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"content-type": "application/json", **({"x-goog-api-key": key} if key else {})}
    request = urllib.request.Request(f"{running.url}{path}", data, headers, method=method or None)
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def asked(running: RunningProvider, body: Any, model: str = MODEL, method: str = "generateContent") -> Any:
    status, answer = call(running, f"/v1beta/models/{model}:{method}", body)
    assert status == 200, answer
    return json.loads(answer)


@pytest.mark.parametrize("stream", ["", "?alt=sse"])
@pytest.mark.parametrize("model", [MODEL, "gemini-2.5-flash", "offline"])
def test_a_task_is_done(running: RunningProvider, model: str, stream: str) -> None:
    body = said("Read a.txt. Which port is it?", tools=READ, systemInstruction={"parts": [{"text": LONG}]})
    method = "streamGenerateContent" if stream else "generateContent"
    reads: list[int] = []
    for _ in range(3):
        status, raw = call(running, f"/v1beta/models/{model}:{method}{stream}", body)
        assert status == 200, raw
        reader = DIALECTS["google"].stream_reader()
        reader.feed(parse_stream(raw)) if stream else None
        answer = reader.response() if stream else DIALECTS["google"].decode_response(raw)
        assert answer.complete and answer.usage is not None and answer.stop_reason == "STOP"
        reads.append(answer.usage.cache_read)
        parts = [item.block.value() for item in answer.items if item.block.kind == "function_call"]
        if not parts:
            break
        (part,) = parts
        assert ("thoughtSignature" in part) == (model != "gemini-2.5-flash")
        text = FILES[part["functionCall"]["args"]["path"]]
        response = {"name": "read_file", "id": part["functionCall"]["id"], "response": {"output": text}}
        body["contents"] += [
            {"role": "model", "parts": parts},
            {"role": "user", "parts": [{"functionResponse": response}]},
        ]
    texts = [item.block.value().get("text", "") for item in answer.items if item.block.kind == "text"]
    assert "`the port is 8080`" in "".join(texts)
    assert {seen.rule for seen in running.server.seen} == {""}
    # A cached prefix is 1,024 tokens at least on Flash, 4,096 on Pro.
    assert reads[0] == 0 and (reads[1] > 2_000) == (model != MODEL)


def test_a_stream_without_events_is_a_list_and_thoughts_are_told_on_request(running: RunningProvider) -> None:
    config = {"generationConfig": {"thinkingConfig": {"includeThoughts": True}}}
    chunks = asked(running, said("hello", **config), method="streamGenerateContent")
    assert isinstance(chunks, list) and chunks[-1]["candidates"][0]["finishReason"] == "STOP"
    whole = DIALECTS["google"].decode_response(chunks)
    assert [item.block.kind for item in whole.items] == ["header", "thinking", "text"]
    silent = DIALECTS["google"].decode_response(asked(running, said("hello")))
    assert [item.block.kind for item in silent.items] == ["header", "text"]
    assert whole.usage is not None and whole.usage.reasoning > 0


def test_tokens_are_counted_as_the_request_is(running: RunningProvider) -> None:
    body = said("count me", tools=READ)
    counted = asked(running, {"generateContentRequest": body}, method="countTokens")["totalTokens"]
    assert counted == asked(running, body)["usageMetadata"]["promptTokenCount"]
    assert counted == asked(running, body, method="countTokens")["totalTokens"]


def test_contents_are_cached_under_a_name_until_they_expire(running: RunningProvider) -> None:
    kept = {"model": "models/gemini-2.5-flash", "systemInstruction": {"parts": [{"text": LONG}]}, "ttl": "300s"}
    status, raw = call(running, "/v1beta/cachedContents", kept)
    assert status == 200
    made = json.loads(raw)
    name, tokens = made["name"], made["usageMetadata"]["totalTokenCount"]
    usage = asked(running, said("hello", cachedContent=name), "gemini-2.5-flash")["usageMetadata"]
    assert usage["cachedContentTokenCount"] == tokens < usage["promptTokenCount"]
    status, raw = call(running, f"/v1beta/models/{MODEL}:generateContent", said("hello", cachedContent=name))
    assert status == 400 and b"has to be the same" in raw
    system = said("hello", cachedContent=name, systemInstruction={"parts": [{"text": "x"}]})
    status, raw = call(running, "/v1beta/models/gemini-2.5-flash:generateContent", system)
    assert status == 400 and b"CachedContent can not be used" in raw
    assert [one["name"] for one in json.loads(call(running, "/v1beta/cachedContents")[1])["cachedContents"]] == [name]
    running.server.provider.clock.advance(100)  # type: ignore[attr-defined]
    for wrong in (["no object"], {"ttl": "long"}, {"ttl": "9" * 20 + "s"}, {"expireTime": "soon"}):
        assert call(running, f"/v1beta/{name}", wrong, "PATCH")[0] == 400
    assert json.loads(call(running, f"/v1beta/{name}")[1]) == made, "what is refused changes nothing"
    status, raw = call(running, f"/v1beta/{name}", {"ttl": "600s"}, "PATCH")
    assert status == 200 and json.loads(raw)["updateTime"] > made["updateTime"]
    running.server.provider.clock.advance(400)  # type: ignore[attr-defined]
    assert call(running, f"/v1beta/{name}")[0] == 200
    running.server.provider.clock.advance(400)  # type: ignore[attr-defined]
    assert call(running, f"/v1beta/{name}")[0] == 403
    del kept["ttl"]
    long_ago = {**kept, "expireTime": "0001-01-01T00:00:00+14:00"}
    status, raw = call(running, "/v1beta/cachedContents", long_ago)
    assert status == 200 and json.loads(raw)["expireTime"].startswith("1970-01-01")
    small = {**kept, "systemInstruction": {"parts": [{"text": "short"}]}}
    status, raw = call(running, "/v1beta/cachedContents", small)
    assert status == 400 and b"min_total_token_count=1024" in raw


def test_any_model_and_any_output_limit(running: RunningProvider) -> None:
    body = said("x") | {"generationConfig": {"maxOutputTokens": 10**6}}
    for model in ("gemma-9", MODEL):
        status, raw = call(running, f"/v1beta/models/{model}:generateContent", body, key="k")
        assert (status, json.loads(raw)["modelVersion"]) == (200, model)


@pytest.mark.parametrize(
    ("path", "body", "key", "status", "told", "words"),
    [
        (f"/v1beta/models/{MODEL}:generateContent", said("x"), "", 403, "PERMISSION_DENIED", "unregistered callers"),
        (f"/v1beta/models/{MODEL}:generateContent", said("x"), "invalid", 400, "INVALID_ARGUMENT", "API key not valid"),
        ("/v1beta/models/gpt-5:generateContent", said("x"), "k", 404, "NOT_FOUND", "models/gpt-5 is not found"),
        (f"/v1beta/models/{MODEL}:generateContent", {"foo": 1}, "k", 400, "INVALID_ARGUMENT", 'Unknown name "foo"'),
        ("/v1beta/cachedContents", {"model": "models/gpt"}, "k", 404, "NOT_FOUND", "not found"),
    ],
)
def test_refusals_have_googles_shape(
    running: RunningProvider, path: str, body: Any, key: str, status: int, told: str, words: str
) -> None:
    running.server.provider.strict_models = True
    got, raw = call(running, path, body, key=key)
    error = json.loads(raw)["error"]
    assert (got, error["code"], error["status"]) == (status, status, told) and words in error["message"]


def test_vertex_paths_and_a_key_in_the_query_are_served(running: RunningProvider) -> None:
    place = "/v1/projects/p/locations/us-central1/publishers/google/models/gemini-2.5-flash:generateContent"
    assert call(running, place, said("hello"))[0] == 200
    assert call(running, f"/v1beta/models/{MODEL}:generateContent?key=k", said("hello"), key="")[0] == 200
    models = json.loads(call(running, "/v1beta/models")[1])["models"]
    assert "models/gemini-2.5-flash" in [one["name"] for one in models]
    assert json.loads(call(running, "/v1beta/models/gemini-2.5-pro")[1])["inputTokenLimit"] == 1_048_576


def test_googles_own_client_does_a_task(running: RunningProvider) -> None:
    genai = pytest.importorskip("google.genai")
    types = genai.types
    client = genai.Client(api_key="k", http_options=types.HttpOptions(base_url=running.url))

    def read_file(path: str) -> str:
        """Reads a file"""
        return FILES[path]

    chat = client.chats.create(model=MODEL, config=types.GenerateContentConfig(tools=[read_file]))
    assert "`the port is 8080`" in chat.send_message("Read a.txt. Which port is it?").text
    told = client.models.generate_content_stream(model="gemini-2.5-flash", contents="say 20 words")
    assert len("".join(chunk.text for chunk in told).split()) == 20
    assert client.models.count_tokens(model="gemini-2.5-flash", contents="hello there").total_tokens > 0
    config = types.CreateCachedContentConfig(contents=[LONG], ttl="300s", display_name="prompts")
    kept = client.caches.create(model="gemini-2.5-flash", config=config)
    config = types.GenerateContentConfig(cached_content=kept.name)
    answer = client.models.generate_content(model="gemini-2.5-flash", contents="hello", config=config)
    assert answer.usage_metadata.cached_content_token_count == kept.usage_metadata.total_token_count
    client.caches.delete(name=kept.name)
    with pytest.raises(genai.errors.ClientError, match="CachedContent not found"):
        client.models.generate_content(model="gemini-2.5-flash", contents="hello", config=config)
    assert "models/offline" in [model.name for model in client.models.list()]
    assert {seen.rule for seen in running.server.seen} == {"", "no cached content"}
