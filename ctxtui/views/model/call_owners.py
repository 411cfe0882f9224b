"""Assigns each call to one session, so that totals over sessions count it once.

Of several copies of a call the one with the fullest report counts: with usage before without, a complete answer before
a partial one, with a price before without. A call that ctxtui copied into a session for resuming does not count there.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from typing import Final, NamedTuple

from msgspec import Struct, field

from ctxtui.views.model.session_summary import SAMPLES, CallSpent, SessionSummary


class CallSums(NamedTuple):
    """Sums over calls.

    - `tokens`: in and out; `input`: in; `read`: those of `input` that were read from a cache.
    - `usd`: the known cost; `unpriced`: number of reported calls that lack a price for all or part of it.
    - `partial`: number of answers that are reported in part.
    """

    calls: float = 0
    tokens: float = 0
    usd: float = 0.0
    unpriced: float = 0
    partial: float = 0
    input: float = 0
    read: float = 0

    def plus(self, other: CallSums, sign: int = 1) -> CallSums:
        return CallSums(*(a + sign * b for a, b in zip(self, other, strict=True)))

    @property
    def fullness(self) -> tuple[float, ...]:
        """Sort key for copies of one call: the fullest copy counts."""
        return bool(self.tokens), -self.partial, -self.unpriced, self.tokens, self.usd, self.read, self.input


NO_SUMS: Final = CallSums()
FIGURES_PER_CALL: Final = len(NO_SUMS)


def _figures_of(call: CallSpent) -> tuple[float, ...]:
    return call.calls, call.tokens, call.cost or 0.0, call.unpriced, call.partial, call.input, call.read


class CallOwners(Struct):
    """Ownership of calls by sessions.

    Calls are keyed by the hash of their id, because there may be a million of them.
    """

    _owner: dict[int, tuple[str, int]] = field(default_factory=dict)
    """The owning session of a call, and the call's index there."""
    _others: dict[int, dict[str, int]] = field(default_factory=dict)
    """The other sessions that contain a call, each with the call's index there."""
    _names: dict[str, list[int]] = field(default_factory=dict)
    """Hashes of a session's calls, in order."""
    _figures: dict[str, array[float]] = field(default_factory=dict)
    _sums: dict[str, CallSums] = field(default_factory=dict)
    total: CallSums = NO_SUMS

    def put(self, key: str, calls: Iterable[CallSpent]) -> None:
        """Set the calls of session `key`, replacing earlier ones."""
        self.drop(key)
        calls_by_hash: dict[int, CallSpent] = {}
        for call in calls:
            if not call.copied:
                calls_by_hash.setdefault(hash(call.id), call)
        self._names[key] = list(calls_by_hash)
        self._figures[key] = array("d", chain.from_iterable(map(_figures_of, calls_by_hash.values())))
        owned_indices = []
        for at, name in enumerate(calls_by_hash):
            owner = self._owner.get(name)
            if owner is not None and self._sums_at(key, at).fullness <= self._sums_at(*owner).fullness:
                self._others.setdefault(name, {})[key] = at
                continue
            if owner is not None:
                self._add(owner[0], self._sums_at(*owner), -1)
                self._others.setdefault(name, {})[owner[0]] = owner[1]
            self._owner[name] = key, at
            owned_indices.append(at)
        self._sums[key] = NO_SUMS
        figures = self._figures[key]
        self._add(
            key,
            CallSums(
                *(sum(figures[at * FIGURES_PER_CALL + n] for at in owned_indices) for n in range(FIGURES_PER_CALL))
            ),
        )

    def drop(self, key: str) -> None:
        """Remove session `key`; its calls go to other sessions that contain them."""
        if key not in self._names:
            return
        self._add(key, self._sums[key], -1)
        for at, name in enumerate(self._names[key]):
            others = self._others.get(name)
            if self._owner[name] != (key, at):
                del self._others[name][key]
            elif others:
                new_owner = max(others.items(), key=lambda item: self._sums_at(*item).fullness)
                del others[new_owner[0]]
                self._owner[name] = new_owner
                self._add(new_owner[0], self._sums_at(*new_owner))
            else:
                del self._owner[name]
        del self._names[key], self._figures[key], self._sums[key]

    def owned_calls(self, key: str, calls: Iterable[CallSpent]) -> Iterator[CallSpent]:
        """The `calls`, all of session `key`, that count there."""
        remaining = {name for at, name in enumerate(self._names.get(key, ())) if self._owner[name] == (key, at)}
        for call in calls:
            if hash(call.id) in remaining and not call.copied:
                remaining.discard(hash(call.id))
                yield call

    def sums_of(self, keys: Collection[str]) -> CallSums:
        """Sums over the sessions `keys`; a call in several of them counts once."""
        sums = NO_SUMS
        best: dict[int, CallSums] = {}
        for key in keys:
            sums = sums.plus(self._sums.get(key, NO_SUMS))
            for at, name in enumerate(self._names.get(key, ())):
                if self._owner[name][0] not in keys:
                    sums_of_call = self._sums_at(key, at)
                    best[name] = max(sums_of_call, best.get(name, sums_of_call), key=lambda sums: sums.fullness)
        for sums_of_call in best.values():
            sums = sums.plus(sums_of_call)
        return sums

    def _add(self, key: str, sums: CallSums, sign: int = 1) -> None:
        self._sums[key] = self._sums[key].plus(sums, sign)
        self.total = self.total.plus(sums, sign)

    def _sums_at(self, key: str, at: int) -> CallSums:
        return CallSums(*self._figures[key][at * FIGURES_PER_CALL : (at + 1) * FIGURES_PER_CALL])


def is_own_session(summary: SessionSummary) -> bool:
    """Whether the session is the user's, not a sample."""
    return summary.group != SAMPLES


def sessions_with_owned_calls(sessions: Iterable[SessionSummary]) -> Iterator[tuple[SessionSummary, list[CallSpent]]]:
    session_list = list(sessions)
    yield from zip(session_list, split_owned([session.spent for session in session_list]), strict=True)


def split_owned(sessions: Sequence[Iterable[CallSpent]]) -> list[list[CallSpent]]:
    """For each session, its calls that count there."""
    owners = CallOwners()
    for number, calls in enumerate(sessions):
        owners.put(str(number), calls)
    return [list(owners.owned_calls(str(number), calls)) for number, calls in enumerate(sessions)]
