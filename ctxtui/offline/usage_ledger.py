"""Counts the input of requests, and simulates the prompt cache, for the offline provider.

Tokens are counted with the tokenizer in the model's card (its facts: window, prices, tokenizer); cache reads and writes
are simulated by the engines of `cache`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from ctxtui.cache.outcome import CacheOutcome
from ctxtui.cache.prefix_key import PrefixChains
from ctxtui.cache.requests import SummedTokens, prompt_from_request
from ctxtui.cache.rule_table import RuleTable, parse_rules
from ctxtui.cache.simulate import Simulator
from ctxtui.core.block import TOOL, Block
from ctxtui.core.tree import Tree
from ctxtui.tokens.block_features import count_features
from ctxtui.tokens.encode import TokenizerFailure, count_text
from ctxtui.tokens.models import ModelCard, ModelTable, parse_models
from ctxtui.tokens.vocab import ENCODINGS, build_encoding
from ctxtui.tokens.weights import prior_weights, weigh
from ctxtui.wire.codec.memo import Memo
from ctxtui.wire.registry import DIALECTS
from ctxtui.wire.request import Request

if TYPE_CHECKING:
    from tiktoken import Encoding

DATA: Final = Path(__file__).resolve().parent.parent / "data"


@cache
def model_table() -> ModelTable:
    return parse_models((DATA / "models.toml").read_text(encoding="utf-8"))


def card(model: str) -> ModelCard:
    return model_table().card(model)


@cache
def encoding(name: str) -> Encoding:
    """The tokenizer `name`; the first use takes about 0.3 s."""
    vocabulary = ENCODINGS[name].vocabulary
    return build_encoding(name, (DATA / "vocab" / f"{vocabulary}.tiktoken.xz").read_bytes())


@cache
def block_counter(model: str) -> Callable[[Block], int]:
    """A function that counts the whole tokens of a block as `model` reads it; cached by block."""
    facts = card(model)
    weights = prior_weights(facts)
    counts: dict[str, int] = {}

    def count(block: Block) -> int:
        size = counts.get(block.digest)
        if size is None:
            size = counts[block.digest] = max(
                0, round(weigh(count_features(block, text_counter(model), facts), weights))
            )
        return size

    return count


def text_counter(model: str) -> Callable[[str], int]:
    """A function that counts the tokens of a text.

    If the tokenizer fails on it, one token for 4 bytes.
    """
    name = card(model).encoding

    def count(text: str) -> int:
        try:
            return count_text(encoding(name), text)
        except TokenizerFailure:
            return -(-len(text.encode("utf-8", "replace")) // 4)

    return count


def output_tokens(model: str, blocks: Iterable[Block]) -> int:
    """Tokens of an answer's blocks; at least one, also for an empty answer."""
    return max(1, sum(map(block_counter(model), blocks)))


_FORCED_CHOICES: Final = ("any", "tool", "required")


@cache
def cache_rules() -> RuleTable:
    return parse_rules((DATA / "cache.toml").read_text(encoding="utf-8"))


class WeighedRequest(Struct, frozen=True):
    """A request with its input in tokens, including hidden ones."""

    request: Request
    tokens: int


class UsageLedger:
    """Counts requests, and predicts what they read from the prompts that are cached."""

    def __init__(self) -> None:
        self._prefixes = PrefixChains(Tree())
        self._simulator = Simulator()
        self._memos = {name: Memo() for name in DIALECTS}
        self._sums: dict[str, SummedTokens] = {}

    def weigh(self, dialect: str, body: bytes, model: str) -> WeighedRequest:
        """Decode `body` and count its input in tokens of `model`. Raises `Malformed`."""
        request = DIALECTS[dialect].decode_request(body, self._memos[dialect])
        count = block_counter(model)
        return WeighedRequest(request, hidden_tokens(request, model) + sum(count(item.block) for item in request.items))

    def predict(
        self, weighed: WeighedRequest, model: str, time: float, *, provider: str = "", betas: tuple[str, ...] = ()
    ) -> CacheOutcome:
        """The cache outcome of a request that starts at `time` (Unix seconds), without writing.

        `provider` is the provider whose caching rules apply; "": the model's maker.
        """
        sums = self._sums.setdefault(model, SummedTokens(self._prefixes.tree, block_counter(model)))
        hidden = hidden_tokens(weighed.request, model)
        rules = cache_rules().for_model(card(model), provider)
        prompt, _ = prompt_from_request(
            self._prefixes,
            weighed.request,
            rules,
            lambda node: sums(node) + hidden,
            provider=provider,
            betas=betas,
            total=weighed.tokens,
        )
        return self._simulator.predict(prompt, time)

    def record(self, outcome: CacheOutcome, time: float) -> None:
        """Record the writes of a started answer, which can be read from now on."""
        self._simulator.record(outcome, time)


def hidden_tokens(request: Request, model: str) -> int:
    """Input tokens that the provider adds to a request with tools (facts §1)."""
    if not any(item.block.kind == TOOL for item in request.items):
        return 0
    facts, choice = card(model), request.params.get("tool_choice")
    kind = choice.get("type") if isinstance(choice, dict) else choice
    return facts.tool_prompt_forced if kind in _FORCED_CHOICES else facts.tool_prompt
