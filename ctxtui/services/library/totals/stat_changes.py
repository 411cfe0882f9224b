"""Compares stats before and after a change or a time.

A change is one of client version, policy, tag or compressor (what compacted or cleared contexts).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from itertools import accumulate
from typing import Final, NamedTuple

from ctxtui.analysis.money.usage_stats import Comparison, Metric, SeenChange, UsageSums, estimate_change, estimate_ratio
from ctxtui.core.errors import CtxtuiError
from ctxtui.services.library.totals.spending import sum_usage, usage_of_calls
from ctxtui.views.model.session_summary import CallSpent, SessionSummary

VERSION, TAG, POLICY, COMPRESSOR = "client-version", "tag", "policy", "compressor"
_WITHOUT_AND_WITH: Final = (TAG, POLICY, COMPRESSOR)
"""Kinds of change that a session either has or lacks."""
WORDS: Final = (
    f"a day or time such as 2026-11-20 or 2026-11-20T14:00, {VERSION}=2.1.300, {POLICY}=NAME, {COMPRESSOR}=NAME or "
    f"{TAG}=NAME"
)
OwnCalls = list[tuple[SessionSummary, list[CallSpent]]]
"""Sessions, each with the calls that it owns, at least one."""
_Sides = tuple[OwnCalls, OwnCalls]
"""Before the change, and after it."""


class Change(NamedTuple):
    """A change that divides calls into before and after.

    - `words`: the user's text.
    - `kind`: `VERSION`, `POLICY`, `COMPRESSOR` or `TAG`, with the version or name `named`; "": a time, `at`, in Unix
      seconds.

    - `source`: the client of a version ("": every client with versions on both sides, or, if there is none, every
      client).
    """

    words: str
    kind: str
    named: str
    at: float = 0.0
    source: str = ""


def parse_change(text: str) -> Change:
    """Parse a change as the user typed it. Raises `CtxtuiError`.

    It is a date or time (local unless it has a zone), ``client-version=2.1.300``, ``policy=NAME``, ``compressor=NAME``
    or ``tag=NAME``. A version may follow its client's name (``client-version=claude code 2.1.300``).
    """
    words = text.strip()
    kind, equals, named = (part.strip() for part in words.partition("="))
    if equals and kind in _WITHOUT_AND_WITH and named:
        return Change(words, kind, named)
    if equals and kind == VERSION and _version_numbers(named):
        # The client's name may have several words, and so may a version: "2.0 (build 7)".
        first_digit = re.search(r"(?:^|\s)(?=\d)", named)
        source, version = (
            (named[: first_digit.start()], named[first_digit.end() :]) if first_digit else named.rpartition(" ")[::2]
        )
        return Change(words, VERSION, version, source=source.strip())
    try:
        when = datetime.fromisoformat(words)
        return Change(words, "", "", (when if when.tzinfo else when.astimezone()).timestamp())
    except (ValueError, OverflowError):
        raise CtxtuiError(f"{words!r} is not a change", way_out=WORDS) from None


def compare(own: OwnCalls, change: Change) -> Comparison:
    """Compare the calls before and after `change`, each figure with its 95 % interval."""
    sides = _divide(own, change)
    usages = [[usage_of_calls(summary, calls) for summary, calls in side] for side in sides]
    uncounted = any(summary.usage_only for side in sides for summary, _ in side)
    return Comparison(
        what=change.words,
        before=sum_usage("before", usages[0], len(usages[0])),
        after=sum_usage("after", usages[1], len(usages[1])),
        metrics=tuple(_compare_figures(usages, _METRICS[:_FIRST_COUNTED] if uncounted else _METRICS)),
    )


def find_changes(own: OwnCalls) -> list[SeenChange]:
    """Find the changes in sessions, newest first: client versions, policies, compressors, tags.

    Each has calls on both sides, and its words parse back to it.
    """
    versions: dict[str, list[_Dated]] = {}
    named: dict[tuple[str, str], float] = {}
    for summary, calls in own:
        began = min(call.started or summary.mtime for call in calls)
        if numbers := _version_numbers(summary.client_version):
            versions.setdefault(summary.source, []).append(
                (numbers, summary.client_version, began, sum(call.calls for call in calls))
            )
        for kind in _WITHOUT_AND_WITH:
            for name in _names_of_kind(kind, summary):
                named[kind, name] = min(began, named.get((kind, name), began))
    changes = [change for source, dated in versions.items() for change in _version_changes(source, dated)]
    # A version without a client's name means every client with older and newer ones; keep it only if unambiguous.
    changes = [
        seen
        for seen in changes
        if (change := parse_change(seen.words)).source or _compared_clients(own, change) == {""}
    ]
    changes += [_without_and_with(own, kind, name, first) for (kind, name), first in named.items()]
    return sorted((seen for seen in changes if seen.before and seen.after), key=lambda seen: (-seen.first, seen.words))


def _without_and_with(own: OwnCalls, kind: str, name: str, first: float) -> SeenChange:
    words = f"{kind}={name}"
    without, with_ = _divide(own, parse_change(words))
    counts = [sum(call.calls for _, calls in side for call in calls) for side in (without, with_)]
    return SeenChange(words, first, len(without), counts[0], len(with_), counts[1])


def _names_of_kind(kind: str, summary: SessionSummary) -> tuple[str, ...]:
    return {TAG: summary.tags, POLICY: summary.policies, COMPRESSOR: summary.compressors}[kind]


_Dated = tuple[list[int], str, float, int]
"""A version's numbers and name, the start of a session with it, and the number of that session's calls."""


def _version_changes(source: str, dated: list[_Dated]) -> Iterator[SeenChange]:
    """One change for each version of a client: sessions with lower versions are before."""
    dated.sort()
    calls = [0, *accumulate(calls for *_, calls in dated)]
    for index, (numbers, name, _, _) in enumerate(dated):
        if index and dated[index - 1][0] == numbers:
            continue
        first = min(began for version, _, began, _ in dated if version == numbers)
        words = f"{VERSION}={f'{source} {name}'.strip()}"
        yield SeenChange(words, first, index, calls[index], len(dated) - index, calls[-1] - calls[index])


def _divide(own: OwnCalls, change: Change) -> _Sides:
    is_about = _make_selector(own, change)
    sides: _Sides = ([], [])
    for summary, calls in own:
        if not is_about(summary):
            continue
        if change.kind:
            sides[_is_after(change, summary)].append((summary, calls))
            continue
        for is_after, side in enumerate(sides):
            own_calls = [call for call in calls if ((call.started or summary.mtime) >= change.at) == bool(is_after)]
            if own_calls:
                side.append((summary, own_calls))
    return sides


def _make_selector(own: OwnCalls, change: Change) -> Callable[[SessionSummary], bool]:
    """Make a function that returns whether a session is compared.

    - For a version: those of the compared clients that have one.
    - For a policy: those of the clients that it was used with.
    - For a compressor: those with any compressor or policy.
    - For the last two, not those read for usage only: their policies are not known.
    """
    if change.kind == VERSION:
        clients = _compared_clients(own, change)
        return lambda summary: bool(summary.source in clients and summary.client_version)
    if change.kind == POLICY:
        tried = {summary.source for summary, _ in own if change.named in summary.policies}
        return lambda summary: summary.source in tried and not summary.usage_only
    if change.kind == COMPRESSOR:
        return lambda summary: bool(summary.compressors or summary.policies) and not summary.usage_only
    return lambda summary: True


def _compared_clients(own: OwnCalls, change: Change) -> set[str]:
    """The clients whose versions are compared; all, if none has versions on both sides."""
    if change.source:
        return {change.source}
    versions: dict[str, set[bool]] = {}
    for summary, _ in own:
        if summary.client_version:
            versions.setdefault(summary.source, set()).add(_is_at_least(change, summary))
    # Version numbers of different clients are unrelated: skip clients with all versions on one side.
    return {source for source, sides in versions.items() if len(sides) == 2} or set(versions)


def _is_after(change: Change, summary: SessionSummary) -> bool:
    if change.kind == VERSION:
        return _is_at_least(change, summary)
    return change.named in _names_of_kind(change.kind, summary)


def _is_at_least(change: Change, summary: SessionSummary) -> bool:
    return _version_numbers(summary.client_version) >= _version_numbers(change.named)


def _version_numbers(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d{1,18}", version)]


_Figure = Callable[[UsageSums], float]


def _has_known_cost(own: UsageSums) -> bool:
    return own.usd is not None and not own.unpriced


def _count_priced_calls(own: UsageSums) -> int:
    return own.calls - own.unpriced if own.usd is not None else 0


def _count_reported_calls(own: UsageSums) -> int:
    return own.calls if own.tokens else 0


_METRICS: Final[tuple[tuple[str, str, _Figure, _Figure], ...]] = (
    ("cost of a session", "usd", lambda own: own.usd or 0.0, _has_known_cost),
    ("cost of a call", "usd", lambda own: own.usd or 0.0, _count_priced_calls),
    ("input of a call", "tokens", lambda own: own.input, _count_reported_calls),
    ("output of a call", "tokens", lambda own: own.output, _count_reported_calls),
    ("cache read", "share", lambda own: own.read, lambda own: own.input),
    ("misses in 100 calls", "calls", lambda own: 100.0 * own.misses, _count_reported_calls),
    ("lost by misses", "share", lambda own: own.lost or 0.0, lambda own: own.usd or 0.0),
    ("compactions in 100 calls", "calls", lambda own: 100.0 * own.compactions, lambda own: own.calls),
    ("over usable in 100 calls", "calls", lambda own: 100.0 * own.overflows, lambda own: own.calls),
)
"""Name, unit, numerator and denominator, both summed over sessions."""
_FIRST_COUNTED: Final = 5
"""Index from which figures require sessions that were read whole."""


def _compare_figures(
    sides: list[list[UsageSums]], figures: Iterable[tuple[str, str, _Figure, _Figure]]
) -> Iterator[Metric]:
    for name, unit, above, below in figures:
        first, second = (estimate_ratio([(above(sums), below(sums)) for sums in side]) for side in sides)
        difference = estimate_change(first, second) if first is not None and second is not None else None
        yield Metric(name, unit, first, second, difference)
