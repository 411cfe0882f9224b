"""Lab variants by name: policies and profiles, cache strategies, models."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import product
from typing import Final

from ctxtui.analysis.lab.placed_markers import spell_name, strategy_names
from ctxtui.analysis.lab.variant import AS_RECORDED, RECORDED, Variant
from ctxtui.core.errors import NotFound
from ctxtui.curation.policies.policy import Policy, Step
from ctxtui.curation.policies.profile import make_step
from ctxtui.curation.policies.settings_text import parse_settings
from ctxtui.services.config.package_data import model_table
from ctxtui.services.config.policy_registry import load_policies, profile_path, read_profile
from ctxtui.services.config.settings import Settings

DEFAULT_POLICIES: Final = (
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
CANDIDATE_POLICIES: Final = (
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
"""Policies among which the lab finds the best one."""
CANDIDATE_CACHES: Final = ("5m", "1h", "automatic", "moving-tail", "static+tail", "memory-aware", "anchored")
"""Cache strategies and lifetimes among which the lab finds the best one."""


def make_variants(
    policies: Sequence[str], caches: Sequence[str], models: Sequence[str], own: Collection[str] = ()
) -> list[Variant]:
    """Make the variants: ``as_recorded``, and each policy with each cache strategy and model.

    The default policies are used if nothing is given. `own` are models in the user's settings, which need not be known.
    Raises `NotFound` for unknown names, `BadConfig` for an invalid setting.
    """
    policies_by_name = load_policies()
    _check_models(models, own)
    names = list(policies) or ([] if caches or models else list(DEFAULT_POLICIES))
    ways: list[tuple[str, tuple[Step, ...]]] = [(AS_RECORDED, ())]
    ways += [way for text in names if (way := parse_policy(text, policies_by_name))[0] != AS_RECORDED]
    strategies = [_find_strategy(name) for name in caches] or [RECORDED]
    variants = [Variant()]
    for (name, steps), cache, model in product(ways, strategies, list(models) or [""]):
        variant = Variant(policy=name, steps=steps, cache=cache, model=model)
        if variant not in variants:
            variants.append(variant)
    return variants


def own_models(settings: Settings) -> frozenset[str]:
    return frozenset((*settings.prices, *settings.context_sizes, *settings.usable_contexts))


def candidate_variants() -> list[Variant]:
    candidates = make_variants(CANDIDATE_POLICIES, (), ())
    return candidates + [variant for variant in make_variants((), CANDIDATE_CACHES, ()) if variant not in candidates]


def parse_policy(text: str, policies: Mapping[str, Policy]) -> tuple[str, tuple[Step, ...]]:
    """The name and steps of a policy, with settings (``budget:target=80000``), or of a profile.

    Raises `NotFound`, `Unreadable`, `BadConfig`.
    """
    if text in (AS_RECORDED, "none"):
        return AS_RECORDED, ()
    path = profile_path(text, policies)
    if path is not None:
        profile = read_profile(path, policies)
        return profile.name or path.stem, profile.steps
    name, _, settings_text = text.replace(" ", ":", 1).partition(":")
    step = make_step(name, policies)
    return name, (Step(step.policy, parse_settings(step.policy, settings_text)) if settings_text else step,)


def _check_models(models: Sequence[str], own: Collection[str]) -> None:
    table = model_table()
    for name in models:
        if name not in own and not table.has_model(name):
            raise NotFound(
                f"no model {name!r} is known",
                place="--model",
                way_out="as recordings name it: claude-sonnet-5, gpt-5.4; one of your own: its price in config.toml",
            )


def _find_strategy(name: str) -> str:
    names = strategy_names()
    if spell_name(name) not in names:
        raise NotFound(f"no cache strategy {name!r}", way_out=f"strategies: {', '.join(names)}")
    return spell_name(name)
