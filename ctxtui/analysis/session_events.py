"""What happened in a session: turns, misses, compactions, jumps, errors, and the one sentence worth saying."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from ctxtui.core.call import Call, EpochStart
from ctxtui.core.session import ASIDE, Session
from ctxtui.core.usage import Usage

JUMP: Final = 5_000
"""A context that grew by more tokens than this in one call made a jump."""
SHORTEST_CACHED: Final = 1_024
"""Below this many tokens in the cache there is nothing to miss: most models' least cacheable prefix (facts §2)."""
_MINUTE: Final = 60.0


@dataclass(frozen=True, slots=True)
class Miss:
    """The cache held `expected` tokens of the prefix, and call `number` (from 1) read only `read` of them.

    `pause` is the time in seconds since the previous call began (None where not recorded). `cause` is ``pause``,
    ``model``, ``compaction`` or "" for anything else. `recorded`: both requests are on record, so that what changed is.
    """

    number: int
    expected: int
    read: int
    pause: float | None
    cause: str
    recorded: bool = False

    @property
    def rewritten(self) -> int:
        """Tokens that had to be read anew at full price or written again."""
        return self.expected - self.read


@dataclass(frozen=True, slots=True)
class CallEvent:
    """Something to travel to: `kind` is ``turn``, ``miss``, ``jump``, ``error`` or an epoch's start (``compaction``,
    ``microcompaction``, ``model``, ``resume`` ...); `number` is the call's, from 1."""

    number: int
    kind: str
    text: str = ""


def lifetime(call: Call) -> float:
    """Seconds that the entries `call` wrote or read are promised to live, judged by what it wrote (facts §2, §4)."""
    usage = call.usage
    if usage and usage.write_12h:
        return 720 * _MINUTE
    if usage and usage.write_1h:
        return 60 * _MINUTE
    if usage and usage.write_30m:
        return 30 * _MINUTE
    return 5 * _MINUTE


def miss(before: Call, call: Call, number: int, ttl: float | None = None) -> Miss | None:
    """Whether `call` missed what `before`, the call just before it in its thread, had left in the cache.

    A hit reads more than half of what could be read: the previous call's read and written tokens where the provider
    reports writes, else its input; never more than this call's own input. `ttl` in seconds overrides `lifetime`.
    """
    was, now = before.usage, call.usage
    if not was or not now or not was.has_cache or not now.has_cache:
        return None
    held = held_by(was, call.provider)
    expected = min(held, now.input)
    if held < SHORTEST_CACHED or now.cache_read * 2 > held:
        return None
    pause = call.started - before.started if call.started is not None and before.started is not None else None
    cause, recorded = cause_of(before, call, pause, ttl), None not in (before.skeleton, call.skeleton)
    return Miss(number, max(expected, now.cache_read), now.cache_read, pause, cause, recorded)


def held_by(was: Usage, provider: str) -> int:
    """Tokens that a call with usage `was` left in the cache: what it read and wrote, where the provider reports writes;
    elsewhere all of its input once anything was read."""
    held = was.cache_read + was.cache_write
    if not was.cache_write and provider != "anthropic":
        held = was.input if was.cache_read else 0
    return held


def cause_of(before: Call, call: Call, pause: float | None, ttl: float | None) -> str:
    """Why `call` did not read what `before` had left: ``compaction``, ``model``, ``pause`` (longer than `ttl` seconds,
    None: what `before` wrote with), or "" where the record does not say."""
    if call.epoch.number != before.epoch.number and call.epoch.start == EpochStart.COMPACTION:
        return "compaction"
    if call.model != before.model:
        return "model"
    if pause is not None and pause > (lifetime(before) if ttl is None else ttl):
        return "pause"
    return ""


def misses(calls: Sequence[Call]) -> list[Miss]:
    """The misses among the calls of one thread, in order."""
    found = []
    ttl = 0.0
    for number, (before, call) in enumerate(pairwise(calls), 2):
        # A client that writes one-hour entries keeps most of its prefix in them: the longest lifetime seen counts.
        ttl = max(ttl, lifetime(before))
        got = miss(before, call, number, ttl)
        if got:
            found.append(got)
    return found


def events(session: Session, thread: str) -> list[CallEvent]:
    """Everything to travel to in one thread, in order of calls."""
    calls = session.thread_calls(thread)
    missed = {m.number: m for m in misses(calls)}
    troubles = {h.after: h.text for h in session.happenings if h.thread == thread and h.after and h.kind != ASIDE}
    found: list[CallEvent] = []
    for number, call in enumerate(calls, 1):
        before = calls[number - 2] if number > 1 else None
        found.extend(_at(session, before, call, number))
        if number in missed:
            found.append(CallEvent(number, "miss", told(missed[number])))
        if call.error or call.id in troubles:
            found.append(CallEvent(number, "error", call.error or troubles[call.id]))
    return found


def _at(session: Session, before: Call | None, call: Call, number: int) -> Iterator[CallEvent]:
    turn = session.tree[call.raw_head].turn
    if turn and (before is None or session.tree[before.raw_head].turn != turn):
        yield CallEvent(number, "turn", f"turn {turn}")
    if before is None:
        return
    if call.epoch.number != before.epoch.number:
        yield CallEvent(number, str(call.epoch.start), call.epoch.detail)
    elif before.usage and call.usage and call.usage.input - before.usage.input > JUMP:
        yield CallEvent(number, "jump", f"+{thousands(call.usage.input - before.usage.input)}")


def thousands(tokens: int) -> str:
    """Tokens in a sentence: ``188k``, ``4.2k``, ``950``."""
    if tokens < 1000:
        return str(tokens)
    return f"{tokens / 1000:.0f}k" if tokens >= 10_000 else f"{tokens / 1000:.1f}k"


def duration(seconds: float) -> str:
    """A pause in a sentence: ``52-minute``, ``3-hour``, ``2-day``."""
    for size, word in ((86_400.0, "day"), (3_600.0, "hour"), (60.0, "minute")):
        if seconds >= size * (2 if word != "minute" else 1):
            return f"{seconds / size:.0f}-{word}"
    return f"{seconds:.0f}-second"


def told(missed: Miss) -> str:
    """A miss in words: ``188k rewritten after a 52-minute pause``."""
    what = f"{thousands(missed.rewritten)} rewritten"
    if missed.cause == "pause" and missed.pause is not None:
        spoken = duration(missed.pause)
        article = "an" if spoken.startswith(("8", "11-", "18-")) else "a"
        return f"{what} after {article} {spoken} pause"
    if missed.cause == "model":
        return f"{what} at a change of model"
    if missed.cause == "compaction":
        return f"{what} by a compaction"
    return what if missed.recorded else f"{what}; the recording does not say why"


def sentence(session: Session, thread: str) -> str:
    """The one true sentence that says most about a thread: its dearest miss, else its compaction, its largest jump,
    or what share was read from the cache."""
    calls = session.thread_calls(thread)
    used = [c.usage for c in calls if c.usage]
    if not used:
        return "no usage recorded" if calls else "no call recorded"
    dearest = max(misses(calls), key=lambda m: m.rewritten, default=None)
    if dearest and dearest.rewritten >= JUMP:
        return f"{told(dearest)} at call {dearest.number}"
    return _growing(calls) or _share(used, len(calls))


def _growing(calls: Sequence[Call]) -> str:
    folded = next((n for n, c in enumerate(calls, 1) if n > 1 and c.epoch.start == EpochStart.COMPACTION), 0)
    if folded and (detail := calls[folded - 1].epoch.detail):
        return f"compacted {detail} at call {folded}"
    steps = [(c.usage.input - b.usage.input, n) for n, (b, c) in enumerate(pairwise(calls), 2) if b.usage and c.usage]
    most, number = max(steps, default=(0, 0))
    return f"call {number} brought {thousands(most)} at once" if most > JUMP else ""


def _share(used: Sequence[Usage], calls: int) -> str:
    whole = sum(u.input for u in used)
    read = sum(u.cache_read for u in used)
    if calls == 1:
        return f"one call of {thousands(whole)}"
    if not any(u.has_cache for u in used) or not whole:
        return f"{calls} calls, {thousands(whole)} sent in all"
    return f"{100 * read / whole:.0f} % of {thousands(whole)} read from the cache over {calls} calls"
