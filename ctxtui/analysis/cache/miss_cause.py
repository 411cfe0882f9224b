"""Why a call does not read all that the one before it left: foretold from what was known before its report, and what
the recording holds about a miss that was not foretold."""

from __future__ import annotations

from typing import Final, NamedTuple

from ctxtui.analysis.cache.client_habit import Clock, Habit
from ctxtui.analysis.cache.prompts import THINKING_LEVEL, sent_params
from ctxtui.analysis.lineage import LineageStep
from ctxtui.analysis.money.resent import Resent
from ctxtui.cache import explain
from ctxtui.cache import outcome as reasons
from ctxtui.cache.explain import SentRequest
from ctxtui.cache.outcome import CacheOutcome
from ctxtui.cache.prefix_salt import effective_parameters
from ctxtui.cache.rules import CacheRules
from ctxtui.core.call import CLIENT_VERSION, Call, EpochStart
from ctxtui.core.tree import ROOT, Tree

EXPIRED: Final = explain.EXPIRED
MODEL: Final = explain.MODEL
RESUME: Final = "resume"
COMPACTION: Final = explain.COMPACTION
STRIPPED: Final = explain.STRIPPED
CONTENT: Final = explain.CONTENT
TOOLS: Final = explain.TOOLS
PARAMETER: Final = explain.PARAMETER
BEHIND: Final = "cache behind"
"""An automatic cache that had not caught up at the call before, and was not expected to."""
EDITS: Final = "edits"
"""Edits alone: they were applied or taken back, and the agent's own context only went on."""

FROM_OUTSIDE: Final = (EXPIRED, RESUME, MODEL)
"""Causes after which only what other traffic keeps warm is left."""
AFTER_ASIDE: Final = ("", STRIPPED)
"""What does not matter where the client itself asked after the turn: that call has cached the prompt as it now is."""
_SHRUNK: Final = (EpochStart.COMPACTION, EpochStart.MICROCOMPACTION)


class Cause(NamedTuple):
    """`name` is one of this module's or of `cache.explain`, "" where nothing is lost. `by` is how much too late
    (seconds), too far (positions), too short (tokens); `what` names the tool, parameter or model."""

    name: str = ""
    by: float = 0.0
    what: str = ""


NO_CAUSE: Final = Cause()


def recorded(tree: Tree, before: SentRequest, now: SentRequest, left: CacheOutcome, outcome: CacheOutcome) -> Cause:
    """The cause between two requests whose markers and parameters are on record; `left` is what the first one left."""
    found = explain.why(tree, before, now, left, outcome)
    if found is None or found.cause == explain.NOT_IN_RECORD:
        return Cause()
    return Cause(found.cause, found.by, found.what)


def by_edits(tree: Tree, before: Call, call: Call, found: Cause) -> Cause:
    """`found`, a cause between two calls; `EDITS` where it says that another context left, and it was edits alone that
    made it another one."""
    if found.name not in _OTHER_CONTEXT or ROOT in (before.raw_head, call.raw_head):
        return found
    parts = not tree.holds(call.sent_head, before.sent_head)
    return Cause(EDITS) if parts and tree.holds(call.raw_head, before.raw_head) else found


def inferred(tree: Tree, call: Call, step: LineageStep, outcome: CacheOutcome, clock: Clock, habit: Habit) -> Cause:
    """The cause where the recording has no markers. The outcome is that of the earliest time at which the call starts,
    less what the cache was used by requests that are no calls."""
    base, rules = step.base, outcome.prompt.rules
    if base.model != call.model:
        return Cause(MODEL, what=f"{base.model} → {call.model}")
    late = next((reason.by for reason in outcome.reasons if reason.kind == reasons.EXPIRED), None)
    late = _late(rules, outcome.at, clock, habit) if late is None else late
    if late is not None:
        return Cause(EXPIRED, late)
    anew = call.epoch != base.epoch
    # Another version has another system prompt.
    other = base.extra.get(CLIENT_VERSION) != call.extra.get(CLIENT_VERSION)
    if anew and call.epoch.start is EpochStart.RESUME and step.asked and (other or habit.loses_at_resume):
        return Cause(RESUME)
    for reason in outcome.reasons:
        if reason.kind == reasons.NO_MARKER:
            return Cause(explain.MARKER_MISSING)
        if reason.kind == reasons.MINIMUM and not habit.caches:
            return Cause(explain.MINIMUM, reason.by)
    hit = outcome.hit
    if hit is not None and tree[hit.node].depth >= tree[base.sent_head].depth - 1:
        return Cause()
    if anew and call.epoch.start in _SHRUNK:
        return Cause(COMPACTION)
    if changed := _parameters(base, call, rules):
        return Cause(PARAMETER, what=changed)
    return Cause(STRIPPED if rules.strips and step.asked else CONTENT)


def in_record(tree: Tree, before: Call, call: Call, resent: Resent, late: float | None, rules: CacheRules) -> Cause:
    """What the recording itself holds about why `call` could not read all that `before` had left, whether or not it was
    foretold: no cause that stands in the file is left out. `late` are the seconds since what its thread had left has
    expired, None where it had not."""
    return by_edits(tree, before, call, _in_record(tree, before, call, resent, late, rules))


def _in_record(tree: Tree, before: Call, call: Call, resent: Resent, late: float | None, rules: CacheRules) -> Cause:
    if before.model != call.model:
        return Cause(MODEL, what=f"{before.model} → {call.model}")
    if late is not None:
        return Cause(EXPIRED, late)
    anew = call.epoch.number != before.epoch.number
    if anew and call.epoch.start in _SHRUNK:
        return Cause(COMPACTION)
    first, second = explain.first_difference(tree, before.sent_head, call.sent_head)
    if first != ROOT and ROOT not in (before.sent_head, call.sent_head):
        # Tools stand in front of everything: a change of theirs is the first there is.
        sections = {tree[node].place.section for node in (first, second) if node != ROOT}
        if "tools" in sections:
            return Cause(TOOLS, what=explain.describe_tool_changes(tree, before.sent_head, call.sent_head))
        if "system" in sections:
            return Cause(CONTENT)
    changed = _parameters(before, call, rules)
    if changed:
        return Cause(PARAMETER, what=changed)
    if resent.changed:
        return Cause(CONTENT)
    if resent.stripped:
        return Cause(STRIPPED)
    if anew and call.epoch.start in (EpochStart.RESUME, EpochStart.CLIENT):
        return Cause(RESUME, what=call.epoch.detail)
    return Cause()


_OTHER_CONTEXT: Final = (COMPACTION, TOOLS, CONTENT, STRIPPED)
"""Causes that say that another context left."""
CHANGES: Final = (MODEL, COMPACTION, TOOLS, CONTENT, PARAMETER, STRIPPED, EDITS)
"""Causes that say that the request is another one: what was lost to them no cache would have kept."""
_EFFORT: Final = ("effort", "reasoning_effort", THINKING_LEVEL, "speed")
"""Members of `Call.extra` under which clients record what they asked for beside the context."""


def _parameters(before: Call, call: Call, rules: CacheRules) -> str:
    """Which parameters that reach the prompt differ between two calls, as far as they are on record."""
    if before.skeleton is not None and call.skeleton is not None:
        given = [
            {path: value for path, _, value in effective_parameters(rules, one.skeleton.dialect, sent_params(one))}
            for one in (before, call)
            if one.skeleton is not None
        ]
        changed = [path for path in {**given[0], **given[1]} if given[0].get(path) != given[1].get(path)]
        if changed:
            return ", ".join(changed)
    told = []
    for name in _EFFORT:
        old, new = before.extra.get(name), call.extra.get(name)
        if isinstance(old, str) and isinstance(new, str) and old != new:
            told.append(f"{name} {old} → {new}")
    return ", ".join(told)


def _late(rules: CacheRules, at: float, clock: Clock, habit: Habit) -> float | None:
    """Seconds since everything of the thread has expired; None where it has not."""
    does = rules.mechanism
    if clock.last is None or not (does.writes_at_markers or does.keeps_every_prefix):
        return None
    life = rules.seconds(habit.life) if does.writes_at_markers else rules.retention
    # The latest that the call before can have started.
    past = at - clock.last - life
    return past if past > 0 else None
