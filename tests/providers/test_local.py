"""Servers on this machine: found on their ports, with the window that is loaded."""

from __future__ import annotations

from typing import Any

import pytest

from ctxtui.providers.local_servers import (
    ServedModel,
    candidate_servers,
    find_servers,
    identify_server,
    lm_studio_models,
    ollama_model,
)
from tests.providers.served import served

LLAMA_CPP: dict[str, Any] = {
    "/props": {"default_generation_settings": {"n_ctx": 8192}},
    "/v1/models": {"data": [{"id": "tiny.gguf", "owned_by": "llamacpp", "meta": {"n_ctx_train": 32768}}]},
}
VLLM: dict[str, Any] = {"/v1/models": {"data": [{"id": "qwen", "owned_by": "vllm", "max_model_len": 16384}]}}
OLLAMA: dict[str, Any] = {
    "/api/tags": {"models": [{"name": "cold:7b"}, {"name": "warm:7b"}]},
    "/api/ps": {"models": [{"name": "warm:7b", "context_length": 8192}]},
    "/api/show": {"model_info": {"qwen2.context_length": 32768}, "parameters": "stop x\nnum_ctx    2048\n"},
}
LM_STUDIO: dict[str, Any] = {
    "/api/v1/models": {
        "models": [
            {"key": "embed", "type": "embedding"},
            {"key": "a", "type": "llm", "max_context_length": 131072, "loaded_instances": []},
            {
                "key": "b", "type": "llm", "max_context_length": 131072,
                "loaded_instances": [{"config": {"context_length": 4096}}],
            },
        ]
    }
}  # fmt: skip
CASES = {
    "llama.cpp": (LLAMA_CPP, [ServedModel("tiny.gguf", 8192, 32768, True)], "openai_chat", "/v1"),
    "vllm": (VLLM, [ServedModel("qwen", 16384, 16384, True)], "openai_chat", "/v1"),
    "ollama": (
        OLLAMA,
        [ServedModel("warm:7b", 8192, 32768, True), ServedModel("cold:7b", 2048, 32768)],
        "ollama_chat",
        "/api",
    ),
    "lm studio": (
        LM_STUDIO,
        [ServedModel("b", 4096, 131072, True), ServedModel("a", 0, 131072)],
        "openai_chat",
        "/v1",
    ),
}


@pytest.mark.parametrize("kind", list(CASES))
async def test_each_kind_on_its_port(kind: str) -> None:
    routes, models, dialect, path = CASES[kind]
    async with served(routes) as server:
        (found,) = await find_servers({}, [(kind, server.root)])
        assert list(found.models) == models
        assert (found.endpoint.kind, found.endpoint.dialect) == (kind, dialect)
        assert found.endpoint.base_url == server.root + path and found.endpoint.local


@pytest.mark.parametrize("kind", ["llama.cpp", "vllm"])
async def test_a_base_url_tells_what_is_behind_it(kind: str) -> None:
    async with served(CASES[kind][0]) as server:
        found = await identify_server(f"{server.root}/v1", {})
        assert found is not None and list(found.models) == CASES[kind][1]


async def test_other_programs_on_these_ports_are_no_servers() -> None:
    async with served({"/v1/models": ["?"], "/api/tags": "hello", "/props": 3}) as server:
        places = [(kind, server.root) for kind in CASES]
        assert await find_servers({}, places) == []
    assert await find_servers({}, [("vllm", "http://127.0.0.1:1")]) == []


@pytest.mark.parametrize(
    "env, parameters, window",
    [({}, "", 4096), ({"OLLAMA_CONTEXT_LENGTH": "16000"}, "", 16000), ({}, "num_ctx 99999", 32768)],
)
def test_what_ollama_would_load_a_model_with(env: dict[str, str], parameters: str, window: int) -> None:
    show = {"model_info": {"x.context_length": 32768}, "parameters": parameters}
    assert ollama_model("m", show, None, env) == ServedModel("m", window, 32768)


@pytest.mark.parametrize(
    "show",
    [
        [], {"model_info": ["x"]}, {"model_info": {"x.context_length": -5}}, {"parameters": "num_ctx " + "9" * 5000},
        {"model_info": {"x.context_length": 1e400}, "parameters": 5},
    ],
)  # fmt: skip
def test_odd_answers_of_ollama(show: Any) -> None:
    env = {"OLLAMA_CONTEXT_LENGTH": "9" * 5000}
    assert ollama_model("m", show, [], env) == ServedModel("m", 4096, 0)


async def test_odd_answers_of_servers() -> None:
    odd = {
        "/api/tags": {"models": [{"name": "a"}]},
        "/api/ps": {"models": [{"name": ["a"]}, {"name": {}}]},
        "/api/show": {"model_info": 5},
        "/props": {"default_generation_settings": ["x"]},
        "/api/v1/models": {"models": [{"key": "k", "loaded_instances": [{"config": "x"}]}]},
        "/v1/models": {"data": [{"id": "x", "meta": "y"}]},
    }
    async with served(odd) as server:
        kinds = ("ollama", "lm studio", "llama.cpp", "vllm", "llama-cpp-python")
        servers = await find_servers({}, [(kind, server.root) for kind in kinds])
    assert [server.endpoint.kind for server in servers] == ["ollama", "lm studio", "llama.cpp"]


def test_a_running_model_without_a_window_is_loaded() -> None:
    assert ollama_model("m", {}, {"name": "m"}, {}) == ServedModel("m", 4096, 0, loaded=True)
    newest = {"models": [{"key": "k", "loaded_instances": [{"id": "k"}]}, {"key": "l"}]}
    assert [model.loaded for model in lm_studio_models(newest, None)] == [True, False]


def test_lm_studio_before_version_1() -> None:
    older = {"data": [{"id": "m", "state": "loaded", "loaded_context_length": 5000, "max_context_length": 9000}]}
    assert lm_studio_models(None, older) == [ServedModel("m", 5000, 9000, True)]


@pytest.mark.parametrize(
    "host, root",
    [
        ("", "http://127.0.0.1:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("gpu:9999", "http://gpu:9999"),
        ("https://x.example/", "https://x.example"),
    ],
)
def test_where_ollama_is(host: str, root: str) -> None:
    assert candidate_servers({"OLLAMA_HOST": host})[0] == ("ollama", root)
