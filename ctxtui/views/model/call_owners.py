"""In which session each call counts: the one function that Home and every command that sums sessions add up by.

A call counts once, however many recordings hold it, and the fullest report of it counts: one with usage over one
without, an answer reported whole over one in part, one with a price over one without. What ctxtui copied into a session
to be resumed counts nowhere.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from typing import Final, NamedTuple

from msgspec import Struct, field

from ctxtui.views.model.session_summary import SAMPLES, CallSpent, SessionSummary


class CallSums(NamedTuple):
    """Calls added up: tokens in and out, USD of those with a price, how many have none, how many answers are reported
    in part, tokens of input and of them those that were read from a cache."""

    calls: float = 0
    tokens: float = 0
    usd: float = 0.0
    unpriced: float = 0
    partial: float = 0
    input: float = 0
    read: float = 0

    def plus(self, other: CallSums, sign: int = 1) -> CallSums:
        """With `other`, or with a `sign` of -1 without it."""
        return CallSums(*(a + sign * b for a, b in zip(self, other, strict=True)))

    @property
    def fullness(self) -> tuple[float, ...]:
        """How much is known, of one call: the fullest of several copies counts. Copies of one fullness are equal."""
        return bool(self.tokens), -self.partial, -self.unpriced, self.tokens, self.usd, self.read, self.input


_NOTHING: Final = CallSums()
_WIDE: Final = len(_NOTHING)


def _figures_of(call: CallSpent) -> tuple[float, ...]:
    return call.calls, call.tokens, call.cost or 0.0, call.unpriced, call.partial, call.input, call.read


class CallOwners(Struct):
    """Who owns which call. Sessions come and go; of several with one call the one with its fullest report owns it, of
    equal ones the first.

    A call is known by the hash of its id, because there may be a million of them.
    """

    _owner: dict[int, tuple[str, int]] = field(default_factory=dict)
    """The session that a call counts in, and its place among that one's calls."""
    _others: dict[int, dict[str, int]] = field(default_factory=dict)
    """Sessions that have the call, too."""
    _names: dict[str, list[int]] = field(default_factory=dict)
    _figures: dict[str, array[float]] = field(default_factory=dict)
    _sums: dict[str, CallSums] = field(default_factory=dict)
    total: CallSums = _NOTHING

    def put(self, key: str, calls: Iterable[CallSpent]) -> None:
        """The calls of session `key`, in place of those it had."""
        self.drop(key)
        made: dict[int, CallSpent] = {}
        for call in calls:
            if not call.copied:
                made.setdefault(hash(call.id), call)
        self._names[key] = list(made)
        self._figures[key] = array("d", chain.from_iterable(map(_figures_of, made.values())))
        own = []
        for at, name in enumerate(made):
            owner = self._owner.get(name)
            if owner is not None and self._sums_at(key, at).fullness <= self._sums_at(*owner).fullness:
                self._others.setdefault(name, {})[key] = at
                continue
            if owner is not None:
                self._add(owner[0], self._sums_at(*owner), -1)
                self._others.setdefault(name, {})[owner[0]] = owner[1]
            self._owner[name] = key, at
            own.append(at)
        self._sums[key] = _NOTHING
        figures = self._figures[key]
        self._add(key, CallSums(*(sum(figures[at * _WIDE + n] for at in own) for n in range(_WIDE))))

    def drop(self, key: str) -> None:
        """Session `key` is gone; its calls pass to sessions that have them too."""
        if key not in self._names:
            return
        self._add(key, self._sums[key], -1)
        for at, name in enumerate(self._names[key]):
            others = self._others.get(name)
            if self._owner[name] != (key, at):
                del self._others[name][key]
            elif others:
                heir = max(others.items(), key=lambda one: self._sums_at(*one).fullness)
                del others[heir[0]]
                self._owner[name] = heir
                self._add(heir[0], self._sums_at(*heir))
            else:
                del self._owner[name]
        del self._names[key], self._figures[key], self._sums[key]

    def own(self, key: str, calls: Iterable[CallSpent]) -> Iterator[CallSpent]:
        """Those of the `calls` of session `key` that count there."""
        left = {name for at, name in enumerate(self._names.get(key, ())) if self._owner[name] == (key, at)}
        for call in calls:
            if hash(call.id) in left and not call.copied:
                left.discard(hash(call.id))
                yield call

    def among(self, keys: Collection[str]) -> CallSums:
        """The sums of the sessions `keys` alone; a call that several of them have counts once."""
        sums = _NOTHING
        best: dict[int, CallSums] = {}
        for key in keys:
            sums = sums.plus(self._sums.get(key, _NOTHING))
            for at, name in enumerate(self._names.get(key, ())):
                if self._owner[name][0] not in keys:
                    own = self._sums_at(key, at)
                    best[name] = max(own, best.get(name, own), key=lambda one: one.fullness)
        for own in best.values():
            sums = sums.plus(own)
        return sums

    def _add(self, key: str, sums: CallSums, sign: int = 1) -> None:
        self._sums[key] = self._sums[key].plus(sums, sign)
        self.total = self.total.plus(sums, sign)

    def _sums_at(self, key: str, at: int) -> CallSums:
        return CallSums(*self._figures[key][at * _WIDE : (at + 1) * _WIDE])


def counts(one: SessionSummary) -> bool:
    """Whether a session is the user's own: samples are nobody's money."""
    return one.group != SAMPLES


def once(sessions: Iterable[SessionSummary]) -> Iterator[tuple[SessionSummary, list[CallSpent]]]:
    """Each session with those of its calls that count there."""
    every = list(sessions)
    yield from zip(every, owned([one.spent for one in every]), strict=True)


def owned(sessions: Sequence[Iterable[CallSpent]]) -> list[list[CallSpent]]:
    """Of the calls of each session those that count there."""
    owners = CallOwners()
    for number, calls in enumerate(sessions):
        owners.put(str(number), calls)
    return [list(owners.own(str(number), calls)) for number, calls in enumerate(sessions)]
