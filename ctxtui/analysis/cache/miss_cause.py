"""Why a call will not read all that the one before it left: foretold from what was known before its report."""

from __future__ import annotations

from typing import Final, NamedTuple

from ctxtui.analysis.cache.client_habit import Clock, Habit
from ctxtui.analysis.lineage import LineageStep
from ctxtui.cache import explain
from ctxtui.cache import outcome as reasons
from ctxtui.cache.explain import SentRequest
from ctxtui.cache.outcome import CacheOutcome
from ctxtui.cache.rules import CacheRules
from ctxtui.core.call import CLIENT_VERSION, Call, EpochStart
from ctxtui.core.tree import Tree

EXPIRED: Final = "expired"
MODEL: Final = explain.MODEL
RESUME: Final = "resume"
COMPACTION: Final = explain.COMPACTION
STRIPPED: Final = explain.STRIPPED
CONTENT: Final = explain.CONTENT
AGAIN: Final = "again"
"""Nothing on record says why; it was lost at the last requests of this kind."""

FROM_OUTSIDE: Final = (EXPIRED, RESUME, MODEL, AGAIN)
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


def kinds(tree: Tree, step: LineageStep) -> tuple[str, ...]:
    """What kind of request one is, as far as clients and providers treat kinds differently: a person spoke; what was
    cached last ends with a system message among the others (Claude Code from 2.1.280 on writes such ones another way
    when it sends them again)."""
    place = tree[step.base.sent_head].place
    asked, system = step.asked, place.section == "messages" and place.role == "system"
    return tuple(kind for kind, holds in (("asked", asked), ("behind a system message", system)) if holds)


def recorded(tree: Tree, before: SentRequest, now: SentRequest, left: CacheOutcome, outcome: CacheOutcome) -> Cause:
    """The cause between two requests whose markers and parameters are on record; `left` is what the first one left."""
    found = explain.why(tree, before, now, left, outcome)
    if found is None or found.cause == explain.NOT_IN_RECORD:
        return Cause()
    return Cause(EXPIRED if found.cause == explain.LIFETIME else found.cause, found.by, found.what)


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
    return Cause(STRIPPED if rules.strips and step.asked else CONTENT)


def _late(rules: CacheRules, at: float, clock: Clock, habit: Habit) -> float | None:
    """Seconds since everything of the thread has expired; None where it has not."""
    does = rules.mechanism
    if clock.last is None or not (does.writes_at_markers or does.keeps_every_prefix):
        return None
    life = rules.seconds(habit.life) if does.writes_at_markers else rules.retention
    # The latest that the call before can have started.
    past = at - clock.last - life
    return past if past > 0 else None
