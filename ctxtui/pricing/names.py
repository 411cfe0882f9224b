"""Names under which the price library may know a model that a recording spells in its client's way."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ctxtui.tokens.models import plain_id

LOCAL: Final = frozenset(
    "ollama lmstudio lm_studio lm-studio llamacpp llama.cpp llama-cpp llama_cpp vllm sglang mlx local".split()
)
"""Providers that run on one's own machine: what that costs nobody knows."""
_PROXIES: Final = frozenset({"litellm_proxy", "litellm"})
"""Prefixes that name a way to a provider and no provider."""
_BEDROCK: Final = re.compile(r"^(?:[a-z]{2,6}\.)?(?:anthropic|meta|mistral|deepseek|cohere|openai|amazon)\.")


def candidates(model: str, provider: str) -> Iterator[tuple[str, str]]:
    """(model, provider) pairs to ask for in turn; `provider` "" is found by the model's name. None for local ones.

    ``openrouter/anthropic/claude-3.5-sonnet`` is OpenRouter's; ``litellm_proxy/x`` is priced as x.
    """
    bare = model.partition("[")[0].strip()
    head, slash, rest = bare.partition("/")
    if provider.lower() in LOCAL or (slash and head.lower() in LOCAL):
        return
    yield bare, provider
    if slash and head.lower() in _PROXIES:
        yield from candidates(rest, "")
    elif slash and not provider:
        yield rest, head.lower()
    if not provider and _BEDROCK.match(bare):
        yield bare, "aws"
    dated = plain_id(bare)
    if not slash and dated != bare.lower():
        yield dated, provider
