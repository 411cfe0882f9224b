"""Events of a thread (turns, misses, compactions, jumps, errors), and a summary sentence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from ctxtui.analysis.cache.miss import COMPACTION, MODEL, TTL, UNKNOWN, CacheMiss
from ctxtui.core.call import Call, EpochStart
from ctxtui.core.session import ASIDE, TOOLS_CHANGED, Session
from ctxtui.core.turns import turns_of
from ctxtui.core.usage import Usage

JUMP: Final = 5_000
"""A context that grew by more tokens than this in one call made a jump."""
_QUIET: Final = frozenset({ASIDE, TOOLS_CHANGED, "edits", "files"})
"""Kinds of events that are not problems."""


class CallEvent(Struct, frozen=True):
    """An event that the user can jump to, at call `number`, from 1.

    `kind` is ``turn``, ``miss``, ``jump``, ``loop``, ``error`` or an epoch's start (``compaction``,
    ``microcompaction``, ``model``, ``resume`` ...).
    """

    number: int
    kind: str
    text: str = ""


def list_events(
    session: Session, thread: str, misses: Iterable[CacheMiss] = (), loops: Mapping[int, str] = MappingProxyType({})
) -> list[CallEvent]:
    """List the events of one thread in order of calls.

    `loops` are those of `repeated_calls.loops_by_call`.
    """
    calls = session.thread_calls(thread)
    by_call = {miss.number: miss for miss in misses if miss.thread == thread}
    troubles = {h.after: h.text for h in session.happenings if h.thread == thread and h.after and h.kind not in _QUIET}
    turns = turns_of(session.tree, calls)
    rows: list[CallEvent] = []
    for number, call in enumerate(calls, 1):
        turn = turns.of_call(number - 1)
        if turn and (number == 1 or turns.of_call(number - 2) != turn):
            rows.append(CallEvent(number, "turn", f"turn {turn}"))
        if number > 1:
            rows.extend(_context_events(calls[number - 2], call, number))
        if number in by_call:
            rows.append(CallEvent(number, "miss", describe_miss(by_call[number])))
        if number in loops:
            rows.append(CallEvent(number, "loop", f"{loops[number]}, the same answers"))
        if call.error or call.id in troubles:
            rows.append(CallEvent(number, "error", call.error or troubles[call.id]))
    return rows


def _context_events(before: Call, call: Call, number: int) -> Iterator[CallEvent]:
    if call.epoch.number != before.epoch.number:
        yield CallEvent(number, str(call.epoch.start), call.epoch.detail)
    elif before.usage and call.usage and call.usage.input - before.usage.input > JUMP:
        yield CallEvent(number, "jump", f"+{format_thousands(call.usage.input - before.usage.input)}")


def format_thousands(tokens: int) -> str:
    """Format tokens for a sentence: ``188k``, ``4.2k``, ``950``."""
    if tokens < 1000:
        return str(tokens)
    return f"{tokens / 1000:.0f}k" if tokens >= 10_000 else f"{tokens / 1000:.1f}k"


def format_duration(seconds: float) -> str:
    """Format a pause for a sentence: ``52-minute``, ``3-hour``, ``2-day``."""
    for size, word in ((86_400.0, "day"), (3_600.0, "hour"), (60.0, "minute")):
        if seconds >= size * (2 if word != "minute" else 1):
            return f"{seconds / size:.0f}-{word}"
    return f"{seconds:.0f}-second"


_CAUSE_TEXTS: Final = {
    MODEL: " at a change of model",
    COMPACTION: " by a compaction",
    UNKNOWN: "; the recording does not say why",
}


def describe_miss(miss: CacheMiss, place: str = "") -> str:
    """Describe a miss (``188k rewritten after a 52-minute pause``).

    `place` is inserted text that gives its place.
    """
    text = f"{format_thousands(miss.tokens)} rewritten{place}"
    if miss.cause == TTL:
        if miss.pause is None:
            return f"{text} after a pause"
        pause = format_duration(miss.pause)
        article = "an" if pause.startswith(("8", "11-", "18-")) else "a"
        return f"{text} after {article} {pause} pause"
    return text + _CAUSE_TEXTS.get(miss.cause, f": {miss.cause}")


def summarize_thread(session: Session, thread: str, misses: Iterable[CacheMiss] = ()) -> str:
    """Describe the largest miss of a thread, else its growth or cached share.

    The miss counts from `JUMP` tokens; growth is a compaction or a jump.
    """
    calls = session.thread_calls(thread)
    used = [c.usage for c in calls if c.usage and not c.is_sum]
    if not used:
        return "no usage recorded" if calls else "no call recorded"
    thread_misses = (miss for miss in misses if miss.thread == thread)
    largest = max(thread_misses, key=lambda miss: (miss.usd or 0.0, miss.tokens), default=None)
    if largest and largest.tokens >= JUMP:
        return describe_miss(largest, f" at call {largest.number}")
    return _describe_growth(calls) or _describe_share(used, len(calls))


def _describe_growth(calls: Sequence[Call]) -> str:
    folded = next((n for n, c in enumerate(calls, 1) if n > 1 and c.epoch.start == EpochStart.COMPACTION), 0)
    if folded and (detail := calls[folded - 1].epoch.detail):
        return f"compacted {detail} at call {folded}"
    steps = [(c.usage.input - b.usage.input, n) for n, (b, c) in enumerate(pairwise(calls), 2) if b.usage and c.usage]
    most, number = max(steps, default=(0, 0))
    return f"call {number} added {format_thousands(most)} at once" if most > JUMP else ""


def _describe_share(used: Sequence[Usage], calls: int) -> str:
    total_input = sum(u.input for u in used)
    read = sum(u.cache_read for u in used)
    if calls == 1:
        return f"one call of {format_thousands(total_input)}"
    if not any(u.has_cache for u in used) or not total_input:
        return f"{calls} calls, {format_thousands(total_input)} sent in all"
    return f"{100 * read / total_input:.0f} % of {format_thousands(total_input)} read from the cache over {calls} calls"
