"""The type of a policy, and functions that run one or several.

A run is pure and deterministic. It is *sticky*: an edit that is in the log already is not made again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, field

from ctxtui.core.canonical import Json
from ctxtui.core.edit import Edit
from ctxtui.core.errors import BadConfig
from ctxtui.curation.policies.policy_context import PolicyContext, Settings
from ctxtui.curation.policies.risk import Risk

Propose = Callable[[PolicyContext, Settings], Iterable[Edit]]


class Policy(Struct, frozen=True):
    """A rule that proposes edits; plug-ins define their own.

    - `about`: a description in one line.
    - `propose`: returns the edits for a context.
    - `defaults`: its settings with their default values; `notes` describes each.
    - `least`: none of its edits risks less, so that a search for less risk skips it.
    """

    name: str
    about: str
    propose: Propose
    defaults: Settings = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)
    least: Risk = Risk.NOTHING

    def settings(self, values: Settings, place: str = "") -> dict[str, Json]:
        """The defaults updated by `values`.

        Raises `BadConfig` for an unknown setting or a wrong type.
        """
        for key, value in values.items():
            if key not in self.defaults:
                names = ", ".join(self.defaults) or "none"
                raise BadConfig(f"{self.name} has no setting {key!r}", place=place, way_out=f"settings: {names}")
            default = self.defaults[key]
            if not _has_type_of(value, default):
                expected = "a list" if isinstance(default, list | tuple) else type(default).__name__
                raise BadConfig(f"{self.name}: {key} must be {expected}, not {value!r}", place=place)
        return {**self.defaults, **values}


def _has_type_of(value: Json, default: Json) -> bool:
    if isinstance(default, bool) or isinstance(value, bool):
        return isinstance(value, bool) and isinstance(default, bool)
    if isinstance(default, int):
        return isinstance(value, int) and value >= 0
    if isinstance(default, list | tuple):
        return isinstance(value, list | tuple)
    return isinstance(value, type(default))


class Step(Struct, frozen=True):
    """A policy with its settings, as part of a profile."""

    policy: Policy
    settings: Settings = field(default_factory=dict)


MAX_ROUNDS = 20
"""Maximum runs of a policy on its own result; the second one nearly always adds nothing."""


def run(step: Step, policy_context: PolicyContext) -> list[Edit]:
    """Run a policy until it adds nothing to its own result, and return the new edits.

    No edit is in the log already, reverted or not. Edits of pinned blocks are not left out here: a policy avoids them
    by `PolicyContext.may_change`, and `apply.apply` rejects them.
    """
    return list(after(step, policy_context).log[len(policy_context.log) :])


def after(step: Step, policy_context: PolicyContext) -> PolicyContext:
    """`policy_context` with the edits of `run` applied."""
    for _ in range(MAX_ROUNDS):
        more = propose_once(step, policy_context)
        before = policy_context
        policy_context = before.under(more)
        before.forget()
        if not more:
            break
    return policy_context


def propose_once(step: Step, policy_context: PolicyContext) -> list[Edit]:
    """Run a policy once, and return the edits that are not in the log yet."""
    return list(iter_proposals(step, policy_context))


def iter_proposals(step: Step, policy_context: PolicyContext) -> Iterator[Edit]:
    """Like `propose_once`, one edit after the other, for callers that may stop early."""
    settings = step.policy.settings(step.settings)
    old_ids, new_ids = policy_context.edited.ids, set[str]()
    for edit in step.policy.propose(policy_context, settings):
        if edit.id not in old_ids and edit.targets and edit.id not in new_ids:
            new_ids.add(edit.id)
            yield edit


def run_all(steps: Sequence[Step], policy_context: PolicyContext) -> list[Edit]:
    """Run several policies, each on the result of those before it, and return the new edits."""
    return list(after_all(steps, policy_context).log[len(policy_context.log) :])


def after_all(steps: Sequence[Step], policy_context: PolicyContext) -> PolicyContext:
    for step in steps:
        policy_context = after(step, policy_context)
    return policy_context
