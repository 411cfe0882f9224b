"""The variants that are asked for by name: policies and profiles, cache strategies, models."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Final

from ctxtui.analysis.lab.placed_markers import spell_name, strategy_names
from ctxtui.analysis.lab.variant import AS_RECORDED, RECORDED, Variant
from ctxtui.core.errors import NotFound
from ctxtui.curation.policies.policy import Policy, Step
from ctxtui.curation.policies.profile import make_step, parse_profile
from ctxtui.curation.policies.settings_text import parse_settings
from ctxtui.services.config.package_data import model_table
from ctxtui.services.config.policy_registry import load_policies
from ctxtui.services.config.settings import Settings

USUAL: Final = (
    "budget",
    "keep_rounds",
    "externalize_large",
    "summarize_at",
    "hybrid",
    "sliding_window",
    "truncate_results",
    "clear_tool_results",
    "dedupe_reads",
)
"""The policies that are tried where none is asked for."""


SOUGHT: Final = (
    "truncate_results limit=1000",
    "truncate_results",
    "truncate_results limit=6000",
    "truncate_results keep_last=2",
    "externalize_large size=3000",
    "externalize_large",
    "externalize_large size=20000",
    "clear_tool_results trigger=40000",
    "clear_tool_results trigger=70000",
    "clear_tool_results",
    "clear_tool_results trigger=70000 keep=10",
    "keep_rounds n=12 slack=20",
    "keep_rounds n=30 slack=30",
    "summarize_at tokens=60000",
    "summarize_at tokens=100000",
    "sliding_window n=80 slack=80",
    "budget target=80000",
    "dedupe_reads at_least=8000",
)
"""The policies and settings among which the best is sought."""
CACHES: Final = ("5m", "1h", "automatic", "moving-tail", "static+tail", "memory-aware", "anchored")
"""The cache strategies among which the best is sought."""


def variants(
    policies: Sequence[str], caches: Sequence[str], models: Sequence[str], own: Collection[str] = ()
) -> list[Variant]:
    """``as_recorded``, and every policy asked for with every cache strategy and every model; the policies `USUAL` where
    nothing is asked for. `own` are models that the user's settings tell of. Raises `NotFound` for what there is not,
    `BadConfig` for a wrong setting."""
    known = load_policies()
    _refuse_unknown(models, own)
    asked = list(policies) or ([] if caches or models else list(USUAL))
    ways: list[tuple[str, tuple[Step, ...]]] = [(AS_RECORDED, ())]
    ways += [way for word in asked if (way := policy_named(word, known))[0] != AS_RECORDED]
    strategies = [_strategy(name) for name in caches] or [RECORDED]
    found = [Variant()]
    for (name, steps), cache, model in product(ways, strategies, list(models) or [""]):
        one = Variant(policy=name, steps=steps, cache=cache, model=model)
        if one not in found:
            found.append(one)
    return found


def own_models(settings: Settings) -> frozenset[str]:
    """The models whose price or window the user's settings have."""
    return frozenset((*settings.prices, *settings.context_sizes, *settings.usable_contexts))


def sought() -> list[Variant]:
    """Everything among which the best is sought: policies with settings, and cache strategies."""
    found = variants(SOUGHT, (), ())
    return found + [one for one in variants((), CACHES, ()) if one not in found]


def policy_named(word: str, known: Mapping[str, Policy]) -> tuple[str, tuple[Step, ...]]:
    """A policy's or profile's name with its steps. After a colon may stand settings: ``budget:target=80000``."""
    if word in (AS_RECORDED, "none"):
        return AS_RECORDED, ()
    path = Path(word)
    if word not in known and (path.suffix == ".toml" or path.is_file()):
        if not path.is_file():
            raise NotFound("no such profile", place=word)
        profile = parse_profile(path.read_text(encoding="utf-8", errors="replace"), known, word)
        return profile.name or path.stem, profile.steps
    name, _, given = word.replace(" ", ":", 1).partition(":")
    step = make_step(name, known)
    return name, (Step(step.policy, parse_settings(step.policy, given)) if given else step,)


def _refuse_unknown(models: Sequence[str], own: Collection[str]) -> None:
    """Raises `NotFound` for a model of which neither tokens, window nor price are known: nothing can be said of it."""
    table = model_table()
    for name in models:
        if name not in own and not table.has_model(name):
            raise NotFound(
                f"no model {name!r} is known",
                place="--model",
                way_out="as recordings name it: claude-sonnet-5, gpt-5.4; one of your own: its price in config.toml",
            )


def _strategy(name: str) -> str:
    known = strategy_names()
    if spell_name(name) not in known:
        raise NotFound(f"no cache strategy {name!r}", way_out=f"strategies: {', '.join(known)}")
    return spell_name(name)
