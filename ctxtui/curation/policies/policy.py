"""What a policy is, and running one or several: pure, deterministic, sticky."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, field

from ctxtui.core.canonical import Json
from ctxtui.core.edit import Edit
from ctxtui.core.errors import BadConfig
from ctxtui.curation.policies.risk import Risk
from ctxtui.curation.policies.situation import PolicyContext, Settings

Propose = Callable[[PolicyContext, Settings], Iterable[Edit]]


class Policy(Struct, frozen=True):
    """A rule that proposes edits. `about` says in one line what it does, `defaults` are its settings with their
    values, `notes` say what each one means. `least` is the least that any one of its edits risks: who looks for what
    risks less need not ask it."""

    name: str
    about: str
    propose: Propose
    defaults: Settings = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)
    least: Risk = Risk.NOTHING

    def settings(self, given: Settings, place: str = "") -> dict[str, Json]:
        """The settings with those `given` instead of the defaults. Raises `BadConfig` for one that it does not have,
        or of the wrong type."""
        for key, value in given.items():
            if key not in self.defaults:
                known = ", ".join(self.defaults) or "none"
                raise BadConfig(f"{self.name} has no setting {key!r}", place=place, way_out=f"settings: {known}")
            default = self.defaults[key]
            if not _fits(value, default):
                wanted = "a list" if isinstance(default, list | tuple) else type(default).__name__
                raise BadConfig(f"{self.name}: {key} must be {wanted}, not {value!r}", place=place)
        return {**self.defaults, **given}


def _fits(value: Json, default: Json) -> bool:
    if isinstance(default, bool) or isinstance(value, bool):
        return isinstance(value, bool) and isinstance(default, bool)
    if isinstance(default, int):
        return isinstance(value, int) and value >= 0
    if isinstance(default, list | tuple):
        return isinstance(value, list | tuple)
    return isinstance(value, type(default))


class Step(Struct, frozen=True):
    """A policy with its settings, as a profile has it."""

    policy: Policy
    settings: Settings = field(default_factory=dict)


MOST_ROUNDS = 20
"""How often a policy is asked again on its own result; it nearly always has nothing to add at the second time."""


def run(step: Step, situation: PolicyContext) -> list[Edit]:
    """The new edits that a policy proposes, until it has nothing to add to its own result (law 10): none that is in
    the log already, be it reverted; none of a pinned block."""
    return list(after(step, situation).log[len(situation.log) :])


def after(step: Step, situation: PolicyContext) -> PolicyContext:
    """`situation` with the edits of `run` under it."""
    for _ in range(MOST_ROUNDS):
        more = proposed(step, situation)
        before = situation
        situation = before.under(more)
        before.forget()
        if not more:
            break
    return situation


def proposed(step: Step, situation: PolicyContext) -> list[Edit]:
    """The new edits that a policy proposes when it is asked once."""
    return list(proposing(step, situation))


def proposing(step: Step, situation: PolicyContext) -> Iterator[Edit]:
    """The same one by one, for who may stop before the end."""
    settings = step.policy.settings(step.settings)
    known, found = situation.asked.ids, set[str]()
    for edit in step.policy.propose(situation, settings):
        if edit.id not in known and edit.targets and edit.id not in found:
            found.add(edit.id)
            yield edit


def run_all(steps: Sequence[Step], situation: PolicyContext) -> list[Edit]:
    """The new edits of several policies, each working on what those before it made."""
    return list(after_all(steps, situation).log[len(situation.log) :])


def after_all(steps: Sequence[Step], situation: PolicyContext) -> PolicyContext:
    """`situation` with the edits of `run_all` under it."""
    for step in steps:
        situation = after(step, situation)
    return situation
