"""Local servers as the offline provider plays them: the loaded window, what is cut, the figures of each kind."""

from __future__ import annotations

import json
from typing import Any
from urllib import request
from urllib.error import HTTPError

import openai
import pytest

from ctxtui.offline import RunningProvider, Server, offline
from ctxtui.offline.local import KINDS, LLAMA_CPP, LM_STUDIO, OLLAMA, VLLM, LocalModel, LocalServer
from ctxtui.offline.provider import RateLimits
from ctxtui.providers.local_servers import identify_server
from ctxtui.wire.registry import DIALECTS
from ctxtui.wire.request import Response
from ctxtui.wire.sse import parse_stream
from tests.offline.loop import CHAT_TOOLS, chat_loop

MODELS = (LocalModel("offline", 1000, 32_768), LocalModel("idle", 2000, 8192, loaded=False))


def server(kind: str) -> Server:
    return Server(local=LocalServer(kind, MODELS))


def call(running: RunningProvider, path: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    with request.urlopen(request.Request(running.url + path, data), timeout=5) as answer:
        return json.load(answer)


def lines(running: RunningProvider, body: Any) -> Response:
    with request.urlopen(request.Request(running.url + "/api/chat", json.dumps(body).encode()), timeout=5) as answer:
        assert answer.headers["content-type"] == "application/x-ndjson"
        reader = DIALECTS["ollama_chat"].stream_reader()
        reader.feed(parse_stream(answer.read()))
    return reader.response()


@pytest.mark.parametrize("kind", KINDS)
async def test_the_loaded_window_is_found(kind: str) -> None:
    with offline(server(kind)) as running:
        found = await identify_server(running.openai_url, {})
    assert found is not None
    assert found.endpoint.kind == kind
    first = found.models[0]
    assert (first.id, first.window, first.loaded) == ("offline", 1000, True)
    assert first.maximum == (1000 if kind == VLLM else 32_768)


@pytest.mark.parametrize("kind", KINDS)
def test_the_sdk_works(kind: str) -> None:
    with offline(server(kind)) as running, openai.OpenAI(api_key="x", base_url=running.openai_url) as client:
        _, answers = chat_loop(client, "read a.txt and tell me the port?")
        assert "`the port is 8080`" in answers[-1].choices[0].message.content
        asked: Any = {"model": "offline", "messages": [{"role": "user", "content": "hi"}]}
        stream = client.chat.completions.create(**asked, stream=True, stream_options={"include_usage": True})
        assert list(stream)[-1].usage is not None


LONG: Any = [{"role": "system", "content": "Be kind."}] + [
    {"role": role, "content": f"{n} " + "word " * 100} for n in range(10) for role in ("user", "assistant")
] + [{"role": "user", "content": "hello"}]  # fmt: skip


@pytest.mark.parametrize("kind", [OLLAMA, LM_STUDIO])
def test_a_long_prompt_is_cut_without_a_word(kind: str) -> None:
    with offline(server(kind)) as running, openai.OpenAI(api_key="x", base_url=running.openai_url) as client:
        usage = client.chat.completions.create(model="offline", messages=LONG).usage
    assert usage and 800 < usage.prompt_tokens <= 1000


def test_the_only_message_stays_even_if_it_is_too_long() -> None:
    asked: Any = [{"role": "user", "content": "word " * 1500}]
    with offline(server(OLLAMA)) as running, openai.OpenAI(api_key="x", base_url=running.openai_url) as client:
        usage = client.chat.completions.create(model="offline", messages=asked).usage
    assert usage and usage.prompt_tokens > 1000


@pytest.mark.parametrize(("kind", "words"), [(LLAMA_CPP, "available context size"), (VLLM, "context length is 1000")])
def test_a_long_prompt_is_refused(kind: str, words: str) -> None:
    with (
        offline(server(kind)) as running,
        openai.OpenAI(api_key="x", base_url=running.openai_url) as client,
        pytest.raises(openai.BadRequestError, match=words),
    ):
        client.chat.completions.create(model="offline", messages=LONG)


def test_ollamas_own_dialect() -> None:
    with offline(server(OLLAMA)) as running:
        talk = [{"role": "user", "content": "read a.txt"}]
        asked = {"model": "offline", "messages": talk, "tools": CHAT_TOOLS, "think": True}
        streamed = lines(running, asked)
        whole = DIALECTS["ollama_chat"].decode_response(call(running, "/api/chat", {**asked, "stream": False}))
        kinds = [item.block.kind for item in streamed.items]
        assert kinds == ["header", "thinking", "text", "tool_call"]
        assert streamed.usage == whole.usage
        assert streamed.usage and not streamed.usage.has_cache
        seen = running.server.seen[-1].usage
        assert (seen["prompt_eval_count"], seen["eval_count"]) == (whole.usage.input, whole.usage.output)
        said = streamed.items[-1].block.value()
        assert said["function"]["arguments"] == {"path": "a.txt"}


def test_what_ollama_cuts() -> None:
    with offline(server(OLLAMA)) as running:
        cut = lines(running, {"model": "offline", "messages": LONG})
        wide = lines(running, {"model": "offline", "messages": LONG, "options": {"num_ctx": 8192}})
        assert cut.usage and wide.usage and cut.usage.input <= 1000 < wide.usage.input
        shown = call(running, "/api/chat", {"model": "offline", "messages": LONG, "_debug_render_only": True})
        prompt = shown["_debug_info"]["rendered_template"]
        assert prompt.startswith("<|system|>\nBe kind.<|end|>\n") and prompt.endswith("hello<|end|>\n<|assistant|>\n")
        assert "\n0 word" not in prompt and "\n9 word" in prompt
        with pytest.raises(request.HTTPError, match="400"):
            call(running, "/api/chat", {"model": "offline", "messages": LONG, "truncate": False})
        assert call(running, "/api/show", {"model": "offline"})["parameters"].split() == ["num_ctx", "1000"]
        assert [one["name"] for one in call(running, "/api/ps")["models"]] == ["offline"]
        assert [one["name"] for one in call(running, "/api/tags")["models"]] == ["offline", "idle"]


def test_another_model_is_refused_only_if_strict() -> None:
    asked: dict[str, Any] = {"model": "other", "messages": LONG, "stream": False}
    with offline(server(OLLAMA)) as running:
        assert call(running, "/api/chat", asked)["done"] is True
    strict = server(OLLAMA)
    strict.provider.strict_models = True
    with offline(strict) as running, pytest.raises(request.HTTPError, match="404") as missing:
        call(running, "/api/chat", asked)
    assert json.load(missing.value) == {"error": "model 'other' not found"}


def test_what_llama_cpp_evaluates() -> None:
    with offline(server(LLAMA_CPP)) as running:
        talk: Any = [{"role": "user", "content": "word " * 200}]
        first = call(running, "/v1/chat/completions", {"messages": talk})
        more = [*talk, {"role": "assistant", "content": "x"}, {"role": "user", "content": "y"}]
        again = call(running, "/v1/chat/completions", {"messages": more})
        assert first["timings"]["cache_n"] == 0
        counted = call(running, "/v1/chat/completions/input_tokens", {"messages": talk})["input_tokens"]
        assert counted == first["usage"]["prompt_tokens"] == first["timings"]["prompt_n"]
        timings = again["timings"]
        assert timings["cache_n"] >= 200
        assert timings["cache_n"] + timings["prompt_n"] == again["usage"]["prompt_tokens"]
        assert len(call(running, "/tokenize", {"content": "hello there"})["tokens"]) == 2
        assert call(running, "/apply-template", {"messages": talk})["prompt"].endswith("<|assistant|>\n")


def test_what_vllm_counts() -> None:
    with offline(server(VLLM)) as running:
        counted = call(running, "/tokenize", {"model": "offline", "prompt": "hello there"})
        assert (counted["count"], counted["max_model_len"]) == (2, 1000)


def test_odd_bodies_of_listings() -> None:
    with offline(server(LLAMA_CPP)) as running:
        shown = call(running, "/apply-template", {"messages": [{"role": "user", "content": 5}]})["prompt"]
        assert shown == "<|user|>\n5<|end|>\n<|assistant|>\n"
        with pytest.raises(HTTPError, match="400"):
            request.urlopen(request.Request(running.url + "/tokenize", b"[" * 100_000), timeout=5)


@pytest.mark.parametrize(
    ("kind", "path"), [(OLLAMA, "/api/chat"), (OLLAMA, "/v1/chat/completions"), (VLLM, "/v1/chat/completions")]
)
def test_enforced_limits_apply(kind: str, path: str) -> None:
    body = {"model": "offline", "messages": [{"role": "user", "content": "hi"}], "stream": False}
    with offline(server(kind)) as running:
        running.server.provider.limits = RateLimits(requests=1, enforced=True)
        call(running, path, body)
        with pytest.raises(HTTPError, match="429"):
            call(running, path, body)
