"""How a model's provider caches prompts: figures from a data file, each with its source and date (facts §2, §4, §5)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any, Final

from ctxtui.core.canonical import Json
from ctxtui.tokens.models import ModelCard, plain_id

SECTIONS: Final = ("tools", "system", "messages")
"""The sections of a prompt, in the order in which they are cached."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A member of a body that reaches the prompt: a change of what stands at `path` (dots between keys) loses the
    cache from the section `since` on. Leaving it out is the same as sending `default`."""

    path: str
    since: str
    default: Json = None
    engine: str = ""


@dataclass(frozen=True, slots=True)
class CacheRules:
    """How one model's prompts are cached.

    `engine` names the engine; `minimum` is the shortest cached prefix and `step`, `offset`, `spare` count tokens; the
    `lives` of entries are seconds by name (``5m``), `life` is the default one; `retention` is seconds without use.
    `lookback` counts positions or breakpoints, `markers` is the most per request, `slots` the prompts held at once.
    `answers`: an answer is kept with its prompt. `settles`: what was written is found only some calls later now and
    then. `strips`: thinking of earlier turns is taken out before the prompt is cached. `read` and `writes` (by
    lifetime) are prices as multiples of fresh input. `sources` tells where each figure is from, by field name.
    """

    engine: str = "none"
    minimum: int = 0
    lookback: int = 0
    markers: int = 0
    lives: Mapping[str, float] = field(default_factory=dict)
    life: str = ""
    step: int = 1
    offset: int = 0
    retention: float = 0.0
    slots: int = 1
    answers: bool = False
    spare: int = 0
    settles: bool = False
    strips: bool = False
    read: float = 1.0
    writes: Mapping[str, float] = field(default_factory=dict)
    parameters: Mapping[str, tuple[Parameter, ...]] = field(default_factory=dict)
    sources: tuple[tuple[str, str], ...] = ()

    @property
    def known(self) -> bool:
        """Whether anything is known of how the model is cached."""
        return self.engine != "none"

    def seconds(self, life: str) -> float:
        """The lifetime called `life`; the default one where it is not known."""
        return self.lives.get(life) or self.lives[self.life]


class RuleDataError(ValueError):
    """A rule of the caching data that cannot be used; the message names the rule."""


@dataclass(frozen=True, slots=True)
class _Rule:
    models: tuple[str, ...]
    providers: tuple[str, ...]
    figures: Mapping[str, Any]
    source: str

    def holds_for(self, plain: str, provider: str) -> bool:
        here = not self.providers or any(fnmatchcase(provider, pattern) for pattern in self.providers)
        return here and any(fnmatchcase(plain, pattern) for pattern in self.models)


@dataclass(frozen=True, slots=True)
class _Default:
    models: tuple[str, ...]
    path: str
    value: Json


class RuleTable:
    """All rules, in the order of the data file."""

    def __init__(
        self,
        rules: tuple[_Rule, ...],
        parameters: Mapping[str, tuple[Parameter, ...]],
        defaults: tuple[_Default, ...],
    ) -> None:
        self._rules = rules
        self._parameters = parameters
        self._defaults = defaults
        self._known: dict[tuple[str, str], CacheRules] = {}

    def rules(self, card: ModelCard, provider: str = "") -> CacheRules:
        """How the model of `card` is cached at `provider` (``anthropic``, ``llama.cpp``; "": its maker's)."""
        key = (card.id, provider)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._fold(card, (provider or card.provider).lower())
        return found

    def _fold(self, card: ModelCard, provider: str) -> CacheRules:
        plain = plain_id(card.id)
        figures: dict[str, Any] = {}
        sources: dict[str, str] = {}
        for rule in self._rules:
            if rule.holds_for(plain, provider):
                figures |= rule.figures
                sources |= dict.fromkeys(rule.figures, rule.source)
        if figures.get("engine") in ("anthropic", "breakpoints") and card.cache_minimum is not None:
            figures["minimum"] = card.cache_minimum
            sources["minimum"] = dict(card.sources).get("cache_minimum", "")
        parameters = {d: self._given(p, plain, figures.get("engine", "")) for d, p in self._parameters.items()}
        return CacheRules(**figures, strips=card.strips_thinking, parameters=parameters, sources=tuple(sources.items()))

    def _given(self, every: tuple[Parameter, ...], plain: str, engine: str) -> tuple[Parameter, ...]:
        values = {
            one.path: one.value for one in self._defaults if any(fnmatchcase(plain, pattern) for pattern in one.models)
        }
        return tuple(replace(p, default=values.get(p.path, p.default)) for p in every if p.engine in ("", engine))


_FIGURES: Final = {
    "engine": str,
    "minimum": int,
    "lookback": int,
    "markers": int,
    "lives": dict,
    "life": str,
    "step": int,
    "offset": int,
    "retention": float,
    "slots": int,
    "answers": bool,
    "spare": int,
    "settles": bool,
    "read": float,
    "writes": dict,
}


def parse_rules(toml_text: str) -> RuleTable:
    """The table of the caching data file. Raises `RuleDataError` naming the rule that is wrong."""
    data = tomllib.loads(toml_text)
    sources = data.get("sources", {})
    rules = tuple(_rule(f"rule {n}", raw, sources) for n, raw in enumerate(data.get("rule", ()), 1))
    parameters: dict[str, tuple[Parameter, ...]] = {}
    for n, raw in enumerate(data.get("parameter", ()), 1):
        _source(f"parameter {n}", raw, sources)
        if raw.get("from") not in SECTIONS:
            raise RuleDataError(f"parameter {n}: from = {raw.get('from')!r} is no section")
        made = Parameter(raw["path"], raw["from"], raw.get("default"), raw.get("engine", ""))
        parameters[raw["dialect"]] = (*parameters.get(raw["dialect"], ()), made)
    defaults = []
    for n, raw in enumerate(data.get("default", ()), 1):
        _source(f"default {n}", raw, sources)
        defaults.append(_Default(tuple(raw["models"]), raw["path"], raw["value"]))
    return RuleTable(rules, parameters, tuple(defaults))


def _source(place: str, raw: dict[str, Any], sources: Mapping[str, str]) -> str:
    if raw.get("source") not in sources:
        raise RuleDataError(f"{place}: source {raw.get('source')!r} is not in [sources]")
    return sources[raw["source"]]


def _rule(place: str, raw: dict[str, Any], sources: Mapping[str, str]) -> _Rule:
    place = f"{place} ({', '.join(raw.get('models', ['no models']))})"
    figures = {key: value for key, value in raw.items() if key not in ("models", "providers", "source")}
    for key, value in figures.items():
        if key not in _FIGURES or type(value) is not _FIGURES[key]:
            raise RuleDataError(f"{place}: {key} = {value!r} is no figure of a rule")
    return _Rule(tuple(raw["models"]), tuple(raw.get("providers", ())), figures, _source(place, raw, sources))
