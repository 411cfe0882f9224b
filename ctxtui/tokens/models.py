"""Model cards: facts about a model, merged from rules with sources and dates."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any, Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.tokens.features import NOTHING, Features
from ctxtui.tokens.image import ImageRule, parse_image_rule
from ctxtui.tokens.vocab import ENCODINGS

SETTING: Final = "setting windows or models"
"""Source of a window that the user set, and of its usable part."""
Counting = tuple[str, str, int, str, int]
"""The facts that counts of blocks depend on: encoding, image rule, tokens per page, tool rule, hidden envelope."""


class RequestLimits(NamedTuple):
    """Anthropic's limits of a model's requests (facts §1).

    `prefill`: they may end with a begun answer. `media`: maximum number of images, and of PDF pages.
    """

    prefill: bool = True
    media: int = 600


UNKNOWN_LIMITS: Final = RequestLimits()


class ModelCard(Struct, frozen=True):
    """Facts about the model `id` of `provider` ("": unknown); unknown figures are None.

    Counting:
    - `encoding`: one of `ENCODINGS`. `exact`: it is the model's own and not a substitute. `plain`: nothing is learnt
      from reports.
    - `tool_prompt`, `tool_prompt_forced`: tokens that the provider adds to a request with tools, in no block's count
      (if the model is free to choose a tool; if it must call one).
    - `image_rule`: text form of `image`; `page_tokens`: tokens of one PDF page with its image.
    - `tool_rule`: ``json`` or ``functions`` (see `tokens.openai_overhead`).
    - `hidden_envelope`: characters of a thinking signature without thinking.
    - `factors`, `spread`, `half_width`: as in `Weights`, before anything is learnt from reports.
    - `doubt`: the standard deviation of each factor between sessions (0: never learnt). `noise`: that of a call's new
      tokens beyond its blocks.

    Sizes in tokens:
    - `window`, `max_output`: limits of the context and the answer.
    - `cache_minimum`: the shortest prefix that is cached.
    - `long_window`: a longer window that can be requested.
    - `unasked_window`: the window that Claude Code assumes if it does not request the long one.
    - `usable`: the part of the window that may be filled.

    Behaviour:
    - `strips_thinking`: the provider removes thinking of earlier turns.
    - `binds_thinking`: a thinking block is refused when anything before it was changed.

    `sources` gives the source of each figure, by field name.
    """

    id: str
    provider: str = ""
    encoding: str = "o200k_base"
    exact: bool = False
    plain: bool = False
    window: int | None = None
    long_window: int | None = None
    usable: int | None = None
    unasked_window: int | None = None
    max_output: int | None = None
    strips_thinking: bool = False
    binds_thinking: bool = False
    prefill: bool = True
    cache_minimum: int | None = None
    tool_prompt: int = 0
    tool_prompt_forced: int = 0
    image_rule: str = "flat 1000"
    page_tokens: int = 2000
    tool_rule: str = "json"
    hidden_envelope: int = 0
    factors: Features = NOTHING
    spread: Features = NOTHING
    half_width: float = 0.25
    doubt: Features = NOTHING
    noise: float = 10.0
    sources: tuple[tuple[str, str], ...] = ()

    @property
    def request_limits(self) -> RequestLimits:
        return RequestLimits(
            self.prefill, 100 if self.window is not None and self.window <= 200_000 else UNKNOWN_LIMITS.media
        )

    @property
    def image(self) -> ImageRule:
        return parse_image_rule(self.image_rule)

    @property
    def counting(self) -> Counting:
        """Cards with equal keys give a block the same features."""
        return self.encoding, self.image_rule, self.page_tokens, self.tool_rule, self.hidden_envelope


_FIGURES: Final = {
    "provider": str,
    "encoding": str,
    "exact": bool,
    "plain": bool,
    "window": int,
    "long_window": int,
    "usable": int,
    "unasked_window": int,
    "max_output": int,
    "strips_thinking": bool,
    "binds_thinking": bool,
    "prefill": bool,
    "cache_minimum": int,
    "tool_prompt": int,
    "tool_prompt_forced": int,
    "image_rule": str,
    "page_tokens": int,
    "tool_rule": str,
    "hidden_envelope": int,
    "half_width": float,
    "noise": float,
}
"""The figures that a rule may set, with their types."""
_VECTORS: Final = ("factors", "spread", "doubt")
"""Figures with a number for each feature; a rule may set single ones."""


class ModelDataError(ValueError):
    """A rule of the model data is invalid; the message names the rule."""


class ModelRule(Struct, frozen=True):
    """Figures for every model whose plain id matches one of `models`, from one source."""

    models: tuple[str, ...]
    figures: Mapping[str, Any]
    source: str

    def applies_to(self, plain: str) -> bool:
        return any(matches_pattern(plain, pattern) for pattern in self.models)


def matches_pattern(name: str, pattern: str) -> bool:
    """Whether `name` matches `pattern`, in which ``*`` is any text (also ``?``, ``[...]``)."""
    if "[" in pattern or "?" in pattern:
        return fnmatchcase(name, pattern)
    first, *between = pattern.split("*")
    if not between:
        return name == pattern
    last = between.pop()
    position, end = len(first), len(name) - len(last)
    if position > end or not name.startswith(first) or not name.endswith(last):
        return False
    for part in between:
        position = name.find(part, position, end) + len(part)
        if position < len(part):
            return False
    return True


class ModelTable:
    """All rules in order; a later one overrides an earlier one, figure by figure."""

    def __init__(self, rules: tuple[ModelRule, ...]) -> None:
        self._rules = rules
        self._cards: dict[str, ModelCard] = {}

    def with_rules(self, further: tuple[ModelRule, ...]) -> ModelTable:
        return ModelTable((*self._rules, *further))

    def card(self, model_id: str) -> ModelCard:
        """Card of `model_id` in any spelling, with date, provider, region or version.

        An unknown model has the card of ``*``: counted with o200k_base, not `ModelCard.exact`.
        """
        card = self._cards.get(model_id)
        if card is None:
            card = self._cards[model_id] = self._merge_rules(model_id)
        return card

    def has_model(self, model_id: str) -> bool:
        """Whether a rule names the model or its family; rules for every model do not count."""
        plain = plain_id(model_id)
        return any(rule.applies_to(plain) for rule in self._rules if "*" not in rule.models)

    def _merge_rules(self, model_id: str) -> ModelCard:
        plain = plain_id(model_id)
        card = ModelCard(model_id)
        sources: dict[str, str] = {}
        for rule in self._rules:
            if rule.applies_to(plain):
                figures = {k: v for k, v in rule.figures.items() if k not in _VECTORS}
                vectors = {k: getattr(card, k)._replace(**rule.figures[k]) for k in _VECTORS if k in rule.figures}
                card = replace(card, **figures, **vectors)
                sources |= dict.fromkeys(rule.figures, rule.source)
        if "[1m]" in model_id.lower():
            # Claude Code's own mark for a session with the long window.
            card = replace(card, window=1_000_000)
        return replace(card, sources=tuple(sources.items()))


_HOSTS: Final = re.compile(
    r"^(?:[a-z]{2,6}(?:-[a-z]+)?\.)?(?:anthropic|openai|meta|mistral|deepseek|qwen|google|cohere|moonshot|minimax|zai)\."
)
"""A region and a maker before a model's id, as Bedrock has them."""
_CLAUDE: Final = re.compile(r"claude[a-z0-9.\-]*")
_TAIL: Final = re.compile(
    r"(?:-v\d+(?::\d+(?::\d+[km])?)?|[@-](?:20\d{6}|20\d\d-\d\d-\d\d)|[@-]latest|@default|:(?:free|thinking|beta))$"
)
"""A version, a date or a variant after a model's name."""


def plain_id(model_id: str) -> str:
    """Remove provider, region, date, version and case from `model_id`.

    ``us.anthropic.claude-sonnet-4-5-20250929-v1:0`` and ``anthropic/claude-sonnet-4.5`` are ``claude-sonnet-4-5``; an
    Ollama tag (``qwen2.5-coder:7b``) stays.
    """
    plain = model_id.strip().lower().partition("[")[0].rpartition("/")[2]
    if plain.startswith("ft:"):
        plain = plain.split(":")[1]
    plain = _HOSTS.sub("", plain)
    while (shorter := _TAIL.sub("", plain)) != plain:
        plain = shorter
    claude = _CLAUDE.search(plain)
    return claude.group().replace(".", "-") if claude else plain


def parse_models(toml_text: str) -> ModelTable:
    """Parse the model data file. Raises `ValueError` for an invalid rule."""
    data = tomllib.loads(toml_text)
    sources = data.get("sources", {})
    return ModelTable(tuple(_parse_rule(i, raw, sources) for i, raw in enumerate(data.get("rule", ()), 1)))


def _parse_rule(number: int, raw: dict[str, Any], sources: Mapping[str, str]) -> ModelRule:
    place = f"rule {number} ({', '.join(raw.get('models', ['no models']))})"
    figures = {key: value for key, value in raw.items() if key not in ("models", "source")}
    if raw.get("source") not in sources:
        raise ModelDataError(f"{place}: source {raw.get('source')!r} is not in [sources]")
    for key, value in figures.items():
        if key in _VECTORS:
            figures[key] = _check_vector(f"{place}: {key}", value)
        elif key not in _FIGURES or type(value) is not _FIGURES[key]:
            raise ModelDataError(f"{place}: {key} = {value!r} is not a figure of a model card")
    if figures.get("encoding", "o200k_base") not in ENCODINGS:
        raise ModelDataError(f"{place}: unknown encoding {figures['encoding']!r}; known: {', '.join(ENCODINGS)}")
    if "image_rule" in figures:
        parse_image_rule(figures["image_rule"])
    return ModelRule(tuple(raw["models"]), figures, sources[raw["source"]])


def _check_vector(place: str, value: Mapping[str, float]) -> dict[str, float]:
    unknown = set(value) - set(Features._fields)
    if unknown:
        raise ModelDataError(f"{place}: no such feature: {', '.join(sorted(unknown))}")
    return {name: float(number) for name, number in value.items()}
