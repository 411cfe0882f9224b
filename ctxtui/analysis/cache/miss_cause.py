"""Finds the cause of a miss.

`cause_from_requests` (with recorded markers) and `infer_cause` predict it before a call's report. `cause_in_record`
names what the recording shows, and decides whether an automatic cache's loss counts as a miss.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from ctxtui.analysis.cache.client_behaviour import ClientBehaviour, Clock
from ctxtui.analysis.cache.prompts import THINKING_LEVEL, sent_params
from ctxtui.analysis.lineage import LineageStep
from ctxtui.analysis.money.resent import Resent
from ctxtui.cache import explain
from ctxtui.cache import outcome as reasons
from ctxtui.cache.explain import COMPACTION, CONTENT, EXPIRED, MODEL, PARAMETER, STRIPPED, TOOLS, SentRequest
from ctxtui.cache.outcome import CacheOutcome
from ctxtui.cache.prefix_salt import effective_parameters
from ctxtui.cache.rules import CacheRules
from ctxtui.core.call import CLIENT_VERSION, COMPACTIONS, Call, EpochStart
from ctxtui.core.tree import ROOT, Tree

RESUME: Final = "resume"
BEHIND: Final = "cache behind"
"""An automatic cache was behind at the previous call: the miss was predicted, without another cause."""
EDITS: Final = "edits"
"""Edits alone, applied or taken back: the agent's own context only grew."""

SHARED_PREFIX_CAUSES: Final = (EXPIRED, RESUME, MODEL)
"""Causes after which the thread's own entries are lost, but not those that other sessions keep alive."""
IRRELEVANT_AFTER_ASIDE: Final = ("", STRIPPED)
"""Causes without effect if the client sent a request by itself after the turn (an *aside*, as for suggestions).

That request cached everything before the new user message.
"""
_CONTEXT_CAUSES: Final = (COMPACTION, TOOLS, CONTENT, STRIPPED)
"""Causes in which a different context was sent."""
CHANGED_REQUEST: Final = (MODEL, COMPACTION, TOOLS, CONTENT, PARAMETER, STRIPPED, EDITS)
"""Causes by which the prompt itself changed: with them an automatic cache's loss counts like any other."""
_RECORDED_SETTINGS: Final = ("effort", "reasoning_effort", THINKING_LEVEL, "speed")
"""Keys of `Call.extra` for settings that clients record without the request."""


class MissCause(NamedTuple):
    """Cause of a miss.

    - `name`: one of this module's or of `cache.explain`; "" if nothing is lost, or no cause was found.
    - `by`: its amount: seconds too late or too early, positions, or tokens too few.
    - `what`: the tools, parameters or models that changed, or the epoch's detail.
    """

    name: str = ""
    by: float = 0.0
    what: str = ""


NO_CAUSE: Final = MissCause()


def cause_from_requests(
    tree: Tree, before: SentRequest, now: SentRequest, left: CacheOutcome, outcome: CacheOutcome
) -> MissCause:
    """Find the cause of a miss by comparing two requests and their outcomes.

    Returns `NO_CAUSE` if they do not explain it.
    """
    explanation = explain.explain_miss(tree, before, now, left, outcome)
    if explanation is None or explanation.cause == explain.NOT_IN_RECORD:
        return NO_CAUSE
    return MissCause(explanation.cause, explanation.by, explanation.what)


def attribute_to_edits(tree: Tree, before: Call, call: Call, cause: MissCause) -> MissCause:
    """Replace the cause between two calls by `EDITS` if edits alone changed the sent context."""
    if cause.name not in _CONTEXT_CAUSES or ROOT in (before.raw_head, call.raw_head):
        return cause
    differs = not tree.holds(call.sent_head, before.sent_head)
    return MissCause(EDITS) if differs and tree.holds(call.raw_head, before.raw_head) else cause


def infer_cause(
    tree: Tree, call: Call, step: LineageStep, outcome: CacheOutcome, clock: Clock, behaviour: ClientBehaviour
) -> MissCause:
    """Find the cause if the markers of either call are not recorded.

    `outcome` is the simulated one.
    """
    base, rules = step.base, outcome.prompt.rules
    if base.model != call.model:
        return MissCause(MODEL, what=f"{base.model} → {call.model}")
    if call.follows_idle_compaction:
        # The client compacted in the pause, while the cache was still live. After that nothing cached is read, however
        # late the user comes back: not expiry, but the compaction is the cause.
        return MissCause(COMPACTION)
    late = next((reason.by for reason in outcome.reasons if reason.kind == reasons.EXPIRED), None)
    late = _seconds_expired(rules, outcome.at, clock, behaviour) if late is None else late
    if late is not None:
        return MissCause(EXPIRED, late)
    is_new_epoch = call.epoch != base.epoch
    # Each client version has its own system prompt.
    version_changed = base.extra.get(CLIENT_VERSION) != call.extra.get(CLIENT_VERSION)
    if (
        is_new_epoch
        and call.epoch.start is EpochStart.RESUME
        and step.person_wrote
        and (version_changed or behaviour.loses_at_resume)
    ):
        return MissCause(RESUME)
    for reason in outcome.reasons:
        if reason.kind == reasons.NO_MARKER:
            return MissCause(explain.MARKER_MISSING)
        if reason.kind == reasons.MINIMUM and not behaviour.caches:
            return MissCause(explain.MINIMUM, reason.by)
    hit = outcome.hit
    # If at most the last block is lost, no cause is named.
    if hit is not None and tree[hit.node].depth >= tree[base.sent_head].depth - 1:
        return NO_CAUSE
    if is_new_epoch and call.epoch.start in COMPACTIONS:
        return MissCause(COMPACTION)
    if changed := _changed_parameters(base, call, rules):
        return MissCause(PARAMETER, what=changed)
    return MissCause(STRIPPED if rules.strips and step.person_wrote else CONTENT)


def cause_in_record(
    tree: Tree, before: Call, call: Call, resent: Resent, late: float | None, rules: CacheRules
) -> MissCause:
    """The cause that the recording shows if the cache was lost between `before` and `call`.

    `late` is the number of seconds since the thread's cache expired; None if it had not, or times are missing.
    """
    return attribute_to_edits(tree, before, call, _find_in_record(tree, before, call, resent, late, rules))


def _find_in_record(
    tree: Tree, before: Call, call: Call, resent: Resent, late: float | None, rules: CacheRules
) -> MissCause:
    if before.model != call.model:
        return MissCause(MODEL, what=f"{before.model} → {call.model}")
    if call.follows_idle_compaction:
        return MissCause(COMPACTION)
    if late is not None:
        return MissCause(EXPIRED, late)
    is_new_epoch = call.epoch.number != before.epoch.number
    if is_new_epoch and call.epoch.start in COMPACTIONS:
        return MissCause(COMPACTION)
    first, second = explain.first_difference(tree, before.sent_head, call.sent_head)
    if first != ROOT and ROOT not in (before.sent_head, call.sent_head):
        # Tools come first in a prompt, so that a change of tools is always the first difference.
        sections = {tree[node].place.section for node in (first, second) if node != ROOT}
        if "tools" in sections:
            return MissCause(TOOLS, what=explain.describe_tool_changes(tree, before.sent_head, call.sent_head))
        if "system" in sections:
            return MissCause(CONTENT)
    changed = _changed_parameters(before, call, rules)
    if changed:
        return MissCause(PARAMETER, what=changed)
    if resent.changed:
        return MissCause(CONTENT)
    if resent.stripped:
        return MissCause(STRIPPED)
    if is_new_epoch and call.epoch.start in (EpochStart.RESUME, EpochStart.CLIENT):
        return MissCause(RESUME, what=call.epoch.detail)
    return NO_CAUSE


def _changed_parameters(before: Call, call: Call, rules: CacheRules) -> str:
    """Describe the changed parameters that reach the prompt, else the client settings."""
    if before.skeleton is not None and call.skeleton is not None:
        effective = [
            {path: value for path, _, value in effective_parameters(rules, call_.skeleton.dialect, sent_params(call_))}
            for call_ in (before, call)
            if call_.skeleton is not None
        ]
        changed = [
            path for path in {**effective[0], **effective[1]} if effective[0].get(path) != effective[1].get(path)
        ]
        if changed:
            return ", ".join(changed)
    changes = []
    for name in _RECORDED_SETTINGS:
        old, new = before.extra.get(name), call.extra.get(name)
        if isinstance(old, str) and isinstance(new, str) and old != new:
            changes.append(f"{name} {old} → {new}")
    return ", ".join(changes)


def _seconds_expired(rules: CacheRules, time: float, clock: Clock, behaviour: ClientBehaviour) -> float | None:
    """Seconds since the thread's whole cache expired.

    None if it has not, or times are unknown or do not matter.
    """
    mechanism = rules.mechanism
    if clock.last is None or not (mechanism.writes_at_markers or mechanism.keeps_every_prefix):
        return None
    life = rules.seconds(behaviour.life) if mechanism.writes_at_markers else rules.retention
    # `clock.last` is the latest possible start of the previous call.
    expired_s = time - clock.last - life
    return expired_s if expired_s > 0 else None
