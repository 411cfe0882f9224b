"""Reads the data file of caching rules and merges those that apply to a model at a provider."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.cache.rules import SECTIONS, CacheRules, Parameter
from ctxtui.cache.simulate import ENGINES
from ctxtui.core.call import CLIENT_VERSION, Call
from ctxtui.core.canonical import Json
from ctxtui.tokens.models import ModelCard, matches_pattern, plain_id


class RuleDataError(ValueError):
    """A rule of the caching data is invalid; the message names the rule."""


class _Rule(Struct, frozen=True):
    """Figures (fields of `CacheRules`) for matching models, providers and client versions.

    `since` is the first version.
    """

    models: tuple[str, ...]
    providers: tuple[str, ...]
    since: tuple[int, ...]
    figures: Mapping[str, Any]
    source: str

    def applies_to(self, plain: str, provider: str, version: tuple[int, ...]) -> bool:
        here = not self.providers or any(matches_pattern(provider, pattern) for pattern in self.providers)
        return here and version >= self.since and any(matches_pattern(plain, pattern) for pattern in self.models)


class _Default(Struct, frozen=True):
    """The value of the parameter at `path` if a request to one of `models` leaves it out."""

    models: tuple[str, ...]
    path: str
    value: Json


class RuleTable:
    """All rules, in the order of the data file.

    A later rule overrides an earlier one, figure by figure.
    """

    def __init__(
        self,
        rules: tuple[_Rule, ...],
        parameters: Mapping[str, tuple[Parameter, ...]],
        defaults: tuple[_Default, ...],
    ) -> None:
        self._rules = rules
        self._parameters = parameters
        self._defaults = defaults
        self._by_model: dict[tuple[str, str, str], CacheRules] = {}

    def for_model(self, card: ModelCard, provider: str = "", client: str = "") -> CacheRules:
        """Cache rules of the model of `card` at `provider`, as a client's version uses them.

        `provider` "" is the model's maker. `client` is the version of the client that sends the requests; if it is ""
        (unknown), rules that apply from a version on do not apply.
        """
        key = (card.id, provider, client)
        rules = self._by_model.get(key)
        if rules is None:
            rules = self._by_model[key] = self._merge_rules(card, (provider or card.provider).lower(), _version(client))
        return rules

    def for_call(self, call: Call, card: ModelCard) -> CacheRules:
        client = call.extra.get(CLIENT_VERSION)
        return self.for_model(card, call.provider, client if isinstance(client, str) else "")

    def _merge_rules(self, card: ModelCard, provider: str, version: tuple[int, ...]) -> CacheRules:
        plain = plain_id(card.id)
        figures: dict[str, Any] = {}
        sources: dict[str, str] = {}
        for rule in self._rules:
            if rule.applies_to(plain, provider, version):
                figures |= rule.figures
                sources |= dict.fromkeys(rule.figures, rule.source)
        mechanism = ENGINES[figures.get("engine", "none")].mechanism
        if mechanism.minimum_by_model and card.cache_minimum is not None:
            figures["minimum"] = card.cache_minimum
            sources["minimum"] = dict(card.sources).get("cache_minimum", "")
        parameters = {d: self._parameters_for(p, plain, figures.get("engine", "")) for d, p in self._parameters.items()}
        return CacheRules(
            **figures,
            mechanism=mechanism,
            strips=card.strips_thinking,
            parameters=parameters,
            sources=tuple(sources.items()),
        )

    def _parameters_for(self, every: tuple[Parameter, ...], plain: str, engine: str) -> tuple[Parameter, ...]:
        values = {
            default.path: default.value
            for default in self._defaults
            if any(matches_pattern(plain, pattern) for pattern in default.models)
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
    "marked": int,
    "asks_aside": bool,
    "keeps_resumed": bool,
    "reports_writes": bool,
    "read": float,
    "writes": dict,
}
"""The figures that a rule may set, with their types."""


def parse_rules(toml_text: str) -> RuleTable:
    """Parse the caching data file. Raises `ValueError` for an invalid rule."""
    data = tomllib.loads(toml_text)
    sources = data.get("sources", {})
    rules = tuple(_rule(f"rule {n}", raw, sources) for n, raw in enumerate(data.get("rule", ()), 1))
    parameters: dict[str, tuple[Parameter, ...]] = {}
    for n, raw in enumerate(data.get("parameter", ()), 1):
        _source(f"parameter {n}", raw, sources)
        if raw.get("from") not in SECTIONS:
            raise RuleDataError(f"parameter {n}: from = {raw.get('from')!r} is not a section")
        parameter = Parameter(raw["path"], raw["from"], raw.get("default"), raw.get("engine", ""))
        parameters[raw["dialect"]] = (*parameters.get(raw["dialect"], ()), parameter)
    defaults = []
    for n, raw in enumerate(data.get("default", ()), 1):
        _source(f"default {n}", raw, sources)
        defaults.append(_Default(tuple(raw["models"]), raw["path"], raw["value"]))
    return RuleTable(rules, parameters, tuple(defaults))


def _source(place: str, raw: dict[str, Any], sources: Mapping[str, str]) -> str:
    if raw.get("source") not in sources:
        raise RuleDataError(f"{place}: source {raw.get('source')!r} is not in [sources]")
    return sources[raw["source"]]


_SCOPE_KEYS: Final = ("models", "providers", "since", "source")
"""Keys that say what a rule applies to and its source."""
_NUMBERS: Final = re.compile(r"\d{1,9}(?:\.\d{1,9})*")


def _version(text: str) -> tuple[int, ...]:
    return tuple(map(int, match[0].split("."))) if (match := _NUMBERS.match(text)) else ()


def _rule(place: str, raw: dict[str, Any], sources: Mapping[str, str]) -> _Rule:
    place = f"{place} ({', '.join(raw.get('models', ['no models']))})"
    figures = {key: value for key, value in raw.items() if key not in _SCOPE_KEYS}
    for key, value in figures.items():
        if key not in _FIGURES or type(value) is not _FIGURES[key]:
            raise RuleDataError(f"{place}: {key} = {value!r} is not a figure of a rule")
    if figures.get("engine", "none") not in ENGINES:
        raise RuleDataError(f"{place}: engine = {figures['engine']!r} is none of {', '.join(ENGINES)}")
    since = _version(raw.get("since", ""))
    return _Rule(tuple(raw["models"]), tuple(raw.get("providers", ())), since, figures, _source(place, raw, sources))
