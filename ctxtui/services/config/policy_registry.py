"""All policies, ctxtui's and third-party ones, and profiles that name them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from ctxtui.core.edit import Edit
from ctxtui.core.errors import BadConfig, CtxtuiError, NotFound, Unreadable
from ctxtui.curation.policies.builtin import budget
from ctxtui.curation.policies.policy import Policy, Step
from ctxtui.curation.policies.policy_context import PolicyContext, Settings
from ctxtui.curation.policies.profile import Profile, make_step, parse_profile
from ctxtui.curation.policies.registry import POLICIES
from ctxtui.curation.policies.settings_text import parse_value
from ctxtui.services.config import plugins
from ctxtui.services.config.plugins import Plugin


def load_policies() -> Mapping[str, Policy]:
    """The policies by name.

    Of two with one name the first counts, ctxtui's own before others; the other is reported as a trouble.
    """
    policies = dict(POLICIES)
    for plugin in plugins.plugins(plugins.POLICIES):
        policy = plugin_policy(plugin)
        if policy is not None and policies.setdefault(policy.name, policy) is not policy:
            plugins.report_trouble(plugin.place, f"there is a policy {policy.name} already")
    if len(policies) > len(POLICIES):
        policies[budget.NAME] = budget.make_policy(policies.values())
    return policies


def plugin_policy(plugin: Plugin) -> Policy | None:
    """The policy of a plug-in: ``POLICY`` of a module, or an entry point's object.

    None if it could not be loaded or is not a policy, which is reported as a trouble.
    """
    if plugin.trouble:
        return None
    value = getattr(plugin.value, "POLICY", plugin.value)
    if not isinstance(value, Policy):
        plugins.report_trouble(plugin.place, "a policy is a `Policy` called POLICY")
        return None
    return replace(
        value, propose=lambda policy_context, settings: _propose_guarded(plugin, value, policy_context, settings)
    )


def _propose_guarded(plugin: Plugin, policy: Policy, policy_context: PolicyContext, settings: Settings) -> list[Edit]:
    try:
        edits = list(policy.propose(policy_context, settings))
    except CtxtuiError:
        raise
    except Exception as error:
        # Third-party code: report its error.
        why = plugins.error_text(error, plugin.place)
        raise CtxtuiError(f"the policy {policy.name} failed: {why}", place=plugin.place) from error
    invalid = next((edit for edit in edits if not isinstance(edit, Edit)), None)
    if invalid is not None:
        raise CtxtuiError(
            f"the policy {policy.name} gave a {type(invalid).__name__}, which is not an edit", place=plugin.place
        )
    return edits


def build_steps(policies: Sequence[str], settings_texts: Sequence[str] = ()) -> list[Step]:
    """The steps of policies (by name) and profiles (by file), with ``key=value`` settings.

    A step is a policy with its settings. A setting goes to each policy that has it. Raises `NotFound`, `Unreadable`,
    `BadConfig`.
    """
    by_name = load_policies()
    steps: list[Step] = []
    for name in policies:
        path = profile_path(name, by_name)
        steps += read_profile(path, by_name).steps if path is not None else (make_step(name, by_name),)
    if settings_texts and not steps:
        raise BadConfig("--set is for a policy", way_out="name one with --policy")
    for text in settings_texts:
        key, sign, value = text.partition("=")
        if not sign:
            raise BadConfig(f"{text!r} is not a setting", place="--set", way_out="write --set KEY=VALUE")
        takers = [n for n, step in enumerate(steps) if key in step.policy.defaults]
        if not takers:
            raise BadConfig(f"no policy here has a setting {key!r}", place="--set")
        for n in takers:
            step = steps[n]
            settings = {**step.settings, key: parse_value(value, step.policy.defaults[key])}
            step.policy.settings(settings, "--set")
            steps[n] = Step(step.policy, settings)
    return steps


def profile_path(name: str, policies: Mapping[str, Policy]) -> Path | None:
    """The file of the profile that `name` names; None if it can only be the name of a policy."""
    path = Path(os.path.expanduser(name))
    return path if name not in policies and (path.suffix == ".toml" or os.path.isfile(path)) else None


def read_profile(path: Path, policies: Mapping[str, Policy]) -> Profile:
    """The profile in a file. Raises `NotFound`, `Unreadable`, `BadConfig`."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        raise NotFound("no such profile", place=str(path)) from None
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror}", place=str(path)) from error
    return parse_profile(text, policies, str(path))


def load_profile(path: str, cwd: Path) -> Profile | None:
    """The profile of the setting; None if it is empty.

    Raises `NotFound`, `Unreadable`, `BadConfig`.
    """
    if not path:
        return None
    file = cwd / Path(os.path.expanduser(path))
    if not os.path.isfile(file):
        raise NotFound("no such profile", place=str(file), way_out="see the setting profile")
    return read_profile(file, load_policies())
