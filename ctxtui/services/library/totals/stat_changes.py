"""Before and after a change: a new version of a client, a policy, a compressor, a tag, a day; which there are, and what
each did."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from itertools import accumulate
from typing import Final, NamedTuple

from ctxtui.analysis.money.usage_stats import Comparison, Metric, SeenChange, UsageSums, estimate_change, estimate_ratio
from ctxtui.core.errors import CtxtuiError
from ctxtui.services.library.totals.spending import summed, used_by
from ctxtui.views.model.session_summary import CallSpent, SessionSummary

VERSION, TAG, POLICY, COMPRESSOR = "client-version", "tag", "policy", "compressor"
_WITHOUT_AND_WITH: Final = (TAG, POLICY, COMPRESSOR)
"""Kinds of change that a session has or has not."""
WORDS: Final = f"a day such as 2026-11-20, {VERSION}=2.1.300, {POLICY}=NAME, {COMPRESSOR}=NAME or {TAG}=NAME"
"""How a change is asked for."""
OwnCalls = list[tuple[SessionSummary, list[CallSpent]]]
"""Sessions, each with those of its calls that count there."""
_Side = tuple[OwnCalls, OwnCalls]


class Change(NamedTuple):
    """A change of `kind` `VERSION`, `POLICY`, `COMPRESSOR` or `TAG`, `named` there; any other kind is a time, `at` in
    Unix seconds. `words` are the user's for it, `source` the client whose version it is ("": of each that has versions
    on either side)."""

    words: str
    kind: str
    named: str
    at: float = 0.0
    source: str = ""


def change_of(text: str) -> Change:
    """The change that a user's words name: a date, ``client-version=2.1.300`` (also with the client before it,
    ``client-version=claude code 2.1.300``), ``policy=NAME``, ``compressor=NAME``, ``tag=NAME``. Raises `CtxtuiError`.
    """
    words = text.strip()
    kind, equals, named = (part.strip() for part in words.partition("="))
    if equals and kind in _WITHOUT_AND_WITH and named:
        return Change(words, kind, named)
    if equals and kind == VERSION and _numbers(named):
        source, _, version = named.rpartition(" ")
        return Change(words, VERSION, version, source=source.strip())
    try:
        when = datetime.fromisoformat(words)
    except ValueError:
        raise CtxtuiError(f"{words!r} is no change", way_out=WORDS) from None
    return Change(words, "", "", (when if when.tzinfo else when.astimezone()).timestamp())


def compared(own: OwnCalls, changed: Change) -> Comparison:
    """The calls before the change held against those after it."""
    sides = _sides(own, changed)
    each = [[used_by(one, calls) for one, calls in side] for side in sides]
    uncounted = any(one.usage_only for side in sides for one, _ in side)
    return Comparison(
        what=changed.words,
        before=summed("before", each[0], len(each[0])),
        after=summed("after", each[1], len(each[1])),
        metrics=tuple(_metrics(each, _METRICS[:_COUNTED] if uncounted else _METRICS)),
    )


def changes_in(own: OwnCalls) -> list[SeenChange]:
    """The changes that sessions tell of, newest first: versions of a client, policies, compressors, tags. Each has
    calls on either side, and is what its words ask for."""
    versions: dict[str, list[_Dated]] = {}
    named: dict[tuple[str, str], float] = {}
    for one, calls in own:
        began = min(call.started or one.mtime for call in calls)
        if numbers := _numbers(one.client_version):
            versions.setdefault(one.source, []).append(
                (numbers, one.client_version, began, sum(call.calls for call in calls))
            )
        for kind in _WITHOUT_AND_WITH:
            for name in _names(kind, one):
                named[kind, name] = min(began, named.get((kind, name), began))
    found = [change for source, dated in versions.items() for change in _newer_versions(source, dated)]
    # A version without a client's name is asked for by words that mean every client with older and newer ones.
    found = [one for one in found if (about := change_of(one.words)).source or _clients(own, about) == {""}]
    found += [_without_and_with(own, kind, name, first) for (kind, name), first in named.items()]
    return sorted((one for one in found if one.before and one.after), key=lambda one: (-one.first, one.words))


def _without_and_with(own: OwnCalls, kind: str, name: str, first: float) -> SeenChange:
    words = f"{kind}={name}"
    without, with_ = _sides(own, change_of(words))
    calls = [sum(call.calls for _, own in side for call in own) for side in (without, with_)]
    return SeenChange(words, first, len(without), calls[0], len(with_), calls[1])


def _names(kind: str, one: SessionSummary) -> tuple[str, ...]:
    """What a session has of a kind of change."""
    return {TAG: one.tags, POLICY: one.policies, COMPRESSOR: one.compressors}[kind]


_Dated = tuple[list[int], str, float, int]
"""The numbers of a version, its name, when a session of it began, its calls."""


def _newer_versions(source: str, dated: list[_Dated]) -> Iterator[SeenChange]:
    """Each version of a client that sessions have, against all before it."""
    dated.sort()
    calls = [0, *accumulate(calls for *_, calls in dated)]
    for at, (numbers, name, _, _) in enumerate(dated):
        if at and dated[at - 1][0] == numbers:
            continue
        first = min(began for other, _, began, _ in dated if other == numbers)
        words = f"{VERSION}={f'{source} {name}'.strip()}"
        yield SeenChange(words, first, at, calls[at], len(dated) - at, calls[-1] - calls[at])


def _sides(own: OwnCalls, changed: Change) -> _Side:
    """The calls before and after it, of the sessions that it is about."""
    is_about = _about(own, changed)
    sides: _Side = ([], [])
    for one, calls in own:
        if not is_about(one):
            continue
        if changed.kind:
            sides[_is_after(changed, one)].append((one, calls))
            continue
        for is_after, mine in enumerate(sides):
            if of_side := [call for call in calls if ((call.started or one.mtime) >= changed.at) == bool(is_after)]:
                mine.append((one, of_side))
    return sides


def _about(own: OwnCalls, changed: Change) -> Callable[[SessionSummary], bool]:
    """Which sessions are compared. A policy: those of the clients that it was tried with. A compressor: those that
    anything made smaller, for others are short."""
    if changed.kind == VERSION:
        clients = _clients(own, changed)
        return lambda one: bool(one.source in clients and one.client_version)
    if changed.kind == POLICY:
        tried = {one.source for one, _ in own if changed.named in one.policies}
        return lambda one: one.source in tried and not one.usage_only
    if changed.kind == COMPRESSOR:
        return lambda one: bool(one.compressors or one.policies) and not one.usage_only
    return lambda one: True


def _clients(own: OwnCalls, changed: Change) -> set[str]:
    """The clients whose versions are compared."""
    if changed.source:
        return {changed.source}
    versions: dict[str, set[bool]] = {}
    for one, _ in own:
        if one.client_version:
            versions.setdefault(one.source, set()).add(_newer(changed, one))
    # The numbers of one client say nothing of another one's, whose versions are all on one side.
    return {source for source, sides in versions.items() if len(sides) == 2} or set(versions)


def _is_after(changed: Change, one: SessionSummary) -> bool:
    """Whether a session is one of those after the change. Which of two versions is newer their numbers tell."""
    return _newer(changed, one) if changed.kind == VERSION else changed.named in _names(changed.kind, one)


def _newer(changed: Change, one: SessionSummary) -> bool:
    return _numbers(one.client_version) >= _numbers(changed.named)


def _numbers(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)]


_Sum = Callable[[UsageSums], float]
_METRICS: Final[tuple[tuple[str, str, _Sum, _Sum], ...]] = (
    ("cost of a session", "usd", lambda own: own.usd or 0.0, lambda own: 1.0),
    ("cost of a call", "usd", lambda own: own.usd or 0.0, lambda own: own.calls - own.unpriced),
    ("input of a call", "tokens", lambda own: own.input, lambda own: own.calls),
    ("output of a call", "tokens", lambda own: own.output, lambda own: own.calls),
    ("cache read", "share", lambda own: own.read, lambda own: own.input),
    ("misses in 100 calls", "calls", lambda own: 100.0 * own.misses, lambda own: own.calls),
    ("lost by misses", "share", lambda own: own.lost or 0.0, lambda own: own.usd or 0.0),
    ("compactions in 100 calls", "calls", lambda own: 100.0 * own.compactions, lambda own: own.calls),
    ("over usable in 100 calls", "calls", lambda own: 100.0 * own.overflows, lambda own: own.calls),
)
"""Each figure that is compared, as a sum over sessions of what stands above the line over what stands below."""
_COUNTED: Final = 5
"""From which of them on sessions must have been read whole."""


def _metrics(each: list[list[UsageSums]], figures: Iterable[tuple[str, str, _Sum, _Sum]]) -> Iterator[Metric]:
    for name, unit, above, below in figures:
        first, second = (estimate_ratio([(above(one), below(one)) for one in side]) for side in each)
        difference = estimate_change(first, second) if first is not None and second is not None else None
        yield Metric(name, unit, first, second, difference)
