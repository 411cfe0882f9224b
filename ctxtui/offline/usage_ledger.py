"""What requests weigh and what the prompt cache makes of them, with the engines of `cache`."""

from __future__ import annotations

from functools import cache
from typing import Final

from msgspec import Struct

from ctxtui.cache.outcome import CacheOutcome
from ctxtui.cache.prefix_key import Prefixes
from ctxtui.cache.requests import Summed, prompt_of
from ctxtui.cache.rule_table import RuleTable, parse_rules
from ctxtui.cache.simulate import Simulator
from ctxtui.core.block import TOOL
from ctxtui.core.tree import Tree
from ctxtui.offline.counting import block_counter
from ctxtui.offline.data import DATA, card
from ctxtui.wire.codec.memo import Memo
from ctxtui.wire.registry import DIALECTS
from ctxtui.wire.request import Request

_FORCED: Final = ("any", "tool", "required")


@cache
def cache_rules() -> RuleTable:
    """How each provider caches prompts."""
    return parse_rules((DATA / "cache.toml").read_text(encoding="utf-8"))


class WeighedRequest(Struct, frozen=True):
    """A request with its input in tokens, hidden ones included."""

    request: Request
    tokens: int


class UsageLedger:
    """Everything that the provider remembers about prompts."""

    def __init__(self) -> None:
        self._prefixes = Prefixes(Tree())
        self._simulator = Simulator()
        self._memos = {name: Memo() for name in DIALECTS}
        self._sums: dict[str, Summed] = {}

    def read(self, dialect: str, body: bytes) -> Request:
        """The request that `body` spells. Raises `Malformed`."""
        return DIALECTS[dialect].decode_request(body, self._memos[dialect])

    def weigh(self, request: Request, model: str) -> WeighedRequest:
        """The input of `request` in tokens, as `model` counts."""
        count = block_counter(model)
        return WeighedRequest(request, hidden(request, model) + sum(count(item.block) for item in request.items))

    def ask(
        self, weighed: WeighedRequest, model: str, at: float, *, provider: str = "", betas: tuple[str, ...] = ()
    ) -> CacheOutcome:
        """What the cache makes of a request that starts `at` (Unix seconds); nothing is written yet. `provider` says
        whose rules hold ("": those of the model's maker)."""
        sums = self._sums.setdefault(model, Summed(self._prefixes.tree, block_counter(model)))
        extra = hidden(weighed.request, model)
        rules = cache_rules().rules(card(model), provider)
        made, _ = prompt_of(
            self._prefixes,
            weighed.request,
            rules,
            lambda node: sums(node) + extra,
            provider=provider,
            betas=betas,
            total=weighed.tokens,
        )
        return self._simulator.ask(made, at)

    def begin(self, outcome: CacheOutcome, at: float) -> None:
        """The answer began: what was written can be read from now on."""
        self._simulator.take(outcome, at)


def hidden(request: Request, model: str) -> int:
    """Tokens that the provider adds unseen where there are tools (facts §1)."""
    if not any(item.block.kind == TOOL for item in request.items):
        return 0
    facts, choice = card(model), request.params.get("tool_choice")
    kind = choice.get("type") if isinstance(choice, dict) else choice
    return facts.tool_prompt_forced if kind in _FORCED else facts.tool_prompt
