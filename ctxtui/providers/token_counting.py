"""The exact size of a request, from those who know: the count endpoints of providers and servers (facts §1, §4, §5)."""

from __future__ import annotations

from typing import Final

from ctxtui.core import canonical
from ctxtui.core.canonical import Json
from ctxtui.core.errors import ProviderError
from ctxtui.providers.endpoint import ANTHROPIC, CHAT, RESPONSES
from ctxtui.providers.sdk_client import SdkLine

_ANTHROPIC: Final = frozenset("model messages system tools tool_choice thinking cache_control output_config".split())
_RESPONSES: Final = frozenset(
    "model input instructions tools tool_choice parallel_tool_calls reasoning text previous_response_id".split()
)
_CHAT: Final = frozenset("model messages tools".split())


async def counted(line: SdkLine, body: bytes) -> int | None:
    """The input tokens of the request `body` as its provider counts them; None where it has no such endpoint.

    Raises `ProviderError`. It takes a round trip: never in the way of the screen.
    """
    endpoint, request = line.endpoint, canonical.loads(body)
    if endpoint.dialect == ANTHROPIC:
        return _tokens(await line.ask("/v1/messages/count_tokens", _only(request, _ANTHROPIC)))
    if endpoint.dialect == RESPONSES:
        return _tokens(await line.ask("/responses/input_tokens", _only(request, _RESPONSES)))
    if endpoint.dialect == CHAT and endpoint.kind == "llama.cpp":
        return _tokens(await line.ask("/chat/completions/input_tokens", _only(request, _CHAT)))
    if endpoint.dialect == CHAT and endpoint.kind == "vllm":
        # Beside /v1, not below it.
        root = endpoint.base_url.rstrip("/").removesuffix("/v1")
        return _tokens(await line.ask(f"{root}/tokenize", _only(request, _CHAT)))
    return None


def _only(request: Json, known: frozenset[str]) -> bytes:
    return canonical.dumps({key: value for key, value in request.items() if key in known})


def _tokens(answer: Json) -> int:
    found = answer.get("input_tokens", answer.get("count")) if isinstance(answer, dict) else None
    if not isinstance(found, int):
        raise ProviderError("the count endpoint gave no count")
    return found
