"""The rendered prompt, where a server tells it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ctxtui.core.errors import NotFound
from ctxtui.providers.endpoint import Endpoint
from ctxtui.providers.local_servers import render_prompt
from tests.providers.served import failing, served

BODY = b'{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true}'
PROMPT = "<|user|>hi<|assistant|>"
CASES: dict[str, tuple[str, str, Any]] = {
    "ollama": ("/api", "/api/chat", {"_debug_info": {"rendered_template": PROMPT}}),
    "llama.cpp": ("/v1", "/apply-template", {"prompt": PROMPT}),
    "vllm": ("/v1", "/tokenize", {"token_strs": ["<|user|>", "hi", "<|assistant|>"]}),
}


@pytest.mark.parametrize("kind", list(CASES))
async def test_each_server_that_tells(kind: str) -> None:
    base, path, reply = CASES[kind]
    async with served({path: reply}) as server:
        assert await render_prompt(Endpoint(kind, "openai_chat", server.root + base, kind=kind), BODY) == PROMPT
        sent = json.loads(server.bodies[0])
        assert sent["messages"] == [{"role": "user", "content": "hi"}]
        assert sent.get("_debug_render_only", kind != "ollama")


@pytest.mark.parametrize("kind", ["lm studio", "llama.cpp"])
async def test_a_server_that_does_not(kind: str) -> None:
    async with served({}) as server:
        with pytest.raises(NotFound):
            await render_prompt(Endpoint(kind, "openai_chat", server.root + "/v1", kind=kind), BODY)


@pytest.mark.parametrize("kind", list(CASES))
async def test_a_server_cannot_send_the_conversation_elsewhere(kind: str) -> None:
    base, path, reply = CASES[kind]
    async with served({path: reply}) as other:
        async with served({path: failing(307, {}, {"location": f"{other.root}{path}"})}) as server:
            with pytest.raises(NotFound):
                await render_prompt(Endpoint(kind, "openai_chat", server.root + base, kind=kind), BODY)
        assert server.bodies and not other.bodies
