"""Every policy: ours, and those of third parties; and profiles that name them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from ctxtui.core.edit import Edit
from ctxtui.core.errors import BadConfig, CtxtuiError, NotFound
from ctxtui.curation.policies.builtin import budget
from ctxtui.curation.policies.policy import Policy, Step
from ctxtui.curation.policies.profile import Profile, make_step, parse_profile
from ctxtui.curation.policies.registry import POLICIES
from ctxtui.curation.policies.settings_text import parse_value
from ctxtui.curation.policies.situation import PolicyContext, Settings
from ctxtui.services.config import plugins
from ctxtui.services.config.plugins import Plugin


def every_policy() -> Mapping[str, Policy]:
    """The policies by name, ours first; of two with one name ours counts, and the other is noted as a trouble."""
    found = dict(POLICIES)
    for part in plugins.plugins(plugins.POLICIES):
        policy = policy_of(part)
        if policy is not None and found.setdefault(policy.name, policy) is not policy:
            plugins.blame(part.place, f"there is a policy {policy.name} already")
    if len(found) > len(POLICIES):
        found[budget.NAME] = budget.make_policy(found.values())
    return found


def policy_of(part: Plugin) -> Policy | None:
    """The policy of a third party: ``POLICY`` of a module, or what an entry point names. None, and the trouble noted,
    where it is none."""
    if part.trouble:
        return None
    value = getattr(part.value, "POLICY", part.value)
    if not isinstance(value, Policy):
        plugins.blame(part.place, "a policy is a `Policy` called POLICY")
        return None
    return replace(value, propose=lambda situation, settings: _proposed(part, value, situation, settings))


def _proposed(part: Plugin, policy: Policy, situation: PolicyContext, settings: Settings) -> list[Edit]:
    try:
        edits = list(policy.propose(situation, settings))
    except CtxtuiError:
        raise
    except Exception as error:
        # Somebody else's code: its fault is named.
        why = plugins.reason(error, part.place)
        raise CtxtuiError(f"the policy {policy.name} failed: {why}", place=part.place) from error
    odd = next((edit for edit in edits if not isinstance(edit, Edit)), None)
    if odd is not None:
        raise CtxtuiError(f"the policy {policy.name} gave a {type(odd).__name__}, which is no edit", place=part.place)
    return edits


def chosen_steps(policies: Sequence[str], given: Sequence[str] = ()) -> list[Step]:
    """The steps of policies by name and of profiles by file, with the settings ``key=value`` that are `given` for
    whichever takes them. Raises `NotFound`, `BadConfig`."""
    known = every_policy()
    found: list[Step] = []
    for one in policies:
        path = Path(one)
        if one not in known and (path.suffix == ".toml" or path.is_file()):
            if not path.is_file():
                raise NotFound("no such profile", place=one)
            found += parse_profile(path.read_text(encoding="utf-8", errors="replace"), known, one).steps
        else:
            found.append(make_step(one, known))
    if given and not found:
        raise BadConfig("--set is for a policy", way_out="name one with --policy")
    for word in given:
        key, sign, value = word.partition("=")
        if not sign:
            raise BadConfig(f"{word!r} is no setting", place="--set", way_out="write --set KEY=VALUE")
        takers = [n for n, step in enumerate(found) if key in step.policy.defaults]
        if not takers:
            raise BadConfig(f"no policy here has a setting {key!r}", place="--set")
        for n in takers:
            step = found[n]
            settings = {**step.settings, key: parse_value(value, step.policy.defaults[key])}
            step.policy.settings(settings, "--set")
            found[n] = Step(step.policy, settings)
    return found


def profile_at(path: str, cwd: Path) -> Profile | None:
    """The profile that the setting names; None where it names none. Raises `NotFound`, `BadConfig`."""
    if not path:
        return None
    file = cwd / Path(path).expanduser()
    if not file.is_file():
        raise NotFound("no such profile", place=str(file), way_out="see the setting profile")
    return parse_profile(file.read_text(encoding="utf-8", errors="replace"), POLICIES, str(file))
