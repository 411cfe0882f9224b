"""Small Anthropic and OpenAI requests for cache tests: every block counts as many tokens as its text says."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from ctxtui.cache.markers import MarkerRefusal
from ctxtui.cache.outcome import CacheOutcome
from ctxtui.cache.prefix_key import PrefixChains
from ctxtui.cache.prompt import CachedPrompt
from ctxtui.cache.requests import SummedTokens, prompt_from_request
from ctxtui.cache.rules import CacheRules
from ctxtui.cache.simulate import Simulator
from ctxtui.core.block import HEADER, Block
from ctxtui.core.tree import Tree
from ctxtui.services.config.package_data import model_table
from ctxtui.services.counting.books import cache_rules
from ctxtui.wire.registry import DIALECTS
from ctxtui.wire.request import Request

OPUS = "claude-opus-5"


def count(block: Block) -> int:
    """100 tokens a block; a text that ends in ``#n`` counts n; headers nothing."""
    if block.kind == HEADER:
        return 0
    value = block.value()
    text = value.get("text", "") if isinstance(value, dict) else ""
    tail = text.rpartition("#")[2]
    return int(tail) if tail.isdigit() and "#" in text else 100


def text(words: str, ttl: str | None = None, **more: Any) -> dict[str, Any]:
    """A text block, marked where `ttl` is given (``5m``, ``1h``, or ``""`` for the default)."""
    return marked({"type": "text", "text": words, **more}, ttl)


def marked(block: dict[str, Any], ttl: str | None) -> dict[str, Any]:
    if ttl is not None:
        block["cache_control"] = {"type": "ephemeral", **({"ttl": ttl} if ttl else {})}
    return block


def user(*content: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(content)}


def assistant(*content: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(content)}


def rules_of(model: str, provider: str = "") -> CacheRules:
    return cache_rules().for_model(model_table().card(model), provider)


class Desk:
    """Sends bodies to a simulator, each decoded afresh."""

    def __init__(self, dialect: str = "anthropic", model: str = OPUS, provider: str = "", **figures: Any) -> None:
        self.simulator = Simulator()
        self.dialect = dialect
        self.provider = provider
        self.model = model
        self.figures = figures
        self.prefixes = PrefixChains(Tree())
        self.tokens = SummedTokens(self.prefixes.tree, count)

    def prompt(self, messages: Sequence[Any], **members: Any) -> tuple[CachedPrompt, tuple[MarkerRefusal, ...]]:
        betas = members.pop("betas", ())
        key = "input" if self.dialect == "openai_responses" else "messages"
        body = {"model": self.model, **members, key: list(messages)}
        return self.of(DIALECTS[self.dialect].decode_request(json.dumps(body).encode(), None), betas)

    def of(self, request: Request, betas: Sequence[str] = ()) -> tuple[CachedPrompt, tuple[MarkerRefusal, ...]]:
        rules = replace(rules_of(request.model, self.provider), **self.figures)
        return prompt_from_request(self.prefixes, request, rules, self.tokens, provider=self.provider, betas=betas)

    def ask(self, at: float, messages: Sequence[Any], **members: Any) -> CacheOutcome:
        made, refused = self.prompt(messages, **members)
        assert not refused, refused
        return self.simulator.predict(made, at)

    def send(self, at: float, messages: Sequence[Any], began: float | None = None, **members: Any) -> CacheOutcome:
        outcome = self.ask(at, messages, **members)
        self.simulator.record(outcome, began)
        return outcome

    def refused(self, messages: Sequence[Any], **members: Any) -> list[str]:
        return [one.message for one in self.prompt(messages, **members)[1]]


def figures(outcome: CacheOutcome) -> tuple[int, int, int]:
    """Read, written, fresh; law 6 is checked on the way."""
    assert outcome.read + outcome.written + outcome.fresh == outcome.total
    assert min(outcome.read, outcome.written, outcome.fresh) >= 0
    return outcome.read, outcome.written, outcome.fresh
