"""The calls of a thread that are gone through, and how the context of each was read."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any, Final, overload

from ctxtui.analysis.read.absence import NONE_GONE, Absence, Absences
from ctxtui.core.call import Call
from ctxtui.dataclasses import dataclass, dataclass_acyclic


@dataclass_acyclic(frozen=True, slots=True, kw_only=True)
class ReadContext:
    """How the context of a call was read.

    `number` counts from 1 in its thread. `front` are the tokens of system prompt and tools that the recording lacks
    (None where they are on record or cannot be inferred), `attached` those that the client attached again after a
    compaction, `brought` those that the provider put in (`analysis.searches`); `gone` are the blocks that were not
    read, `residual` what is left of the report. `since` is the number of the call whose report moved the residual most,
    `step` by how many tokens, `events` how often blocks were found to be gone so far. A call without report has the
    figures of the one that it extends, and is not `reported` where there is none.
    """

    number: int
    front: int | None
    attached: int = 0
    brought: int = 0
    gone: Absences = NONE_GONE
    residual: int = 0
    since: int = 0
    step: int = 0
    events: int = 0
    lowered: int = 0
    reported: bool = True
    blank: bool = False


class CallAtNode:
    """Which call stands at a node, by its index."""

    def __init__(self) -> None:
        self._next = array("i")
        """By node the index of the call behind its own, 0 where none stands."""

    def get(self, node: int) -> int | None:
        """The index of the call at `node`; None where none stands."""
        found = self._next[node] if node < len(self._next) else 0
        return found - 1 if found else None

    def put(self, node: int, index: int) -> None:
        """The call `index` stands at `node`."""
        if node >= len(self._next):
            self._next.frombytes(bytes(self._next.itemsize * (node + 1 - len(self._next))))
        self._next[node] = index + 1


@dataclass(frozen=True, slots=True)
class ReadLine:
    """The calls of a thread that are gone through, how each was read, and which of them stands at a node."""

    calls: list[Call]
    read: Sequence[ReadContext]
    at: CallAtNode
    index: dict[str, int]
    linked: set[str]
    """Ids of calls whose request links to documents that it does not hold."""

    @property
    def last(self) -> int | None:
        """The index of the last call with a report and blocks on record; None before the first."""
        for index in reversed(range(len(self.calls))):
            if has_report(self.calls[index]) and not self.read[index].blank:
                return index
        return None

    @property
    def events(self) -> int:
        """How often blocks were found to be gone."""
        return self.read[-1].events if self.read else 0


@dataclass(frozen=True, slots=True)
class ReadStep:
    """A `call` with a report: the index of the one that it extends, how the last one with a report was read, and the
    residual that its own is held against."""

    call: Call
    base: int | None
    was: ReadContext | None
    level: int


_NAMES: Final = "number front attached brought residual since step events lowered reported blank".split()
_FACTS: Final = attrgetter(*_NAMES)
_NUMBER, _RESIDUAL, _REPORTED = map(_NAMES.index, ("number", "residual", "reported"))
_WHETHER: Final = frozenset({"reported", "blank"})
_NONE: Final = -(1 << 63)
"""In place of a figure that is not known."""
_MADE: Final = 2048
"""Readings that are kept as they were made."""
_WAY: Final = f"{sys.byteorder} {array('q').itemsize}"
"""The way in which this machine writes numbers."""


def kept_line(line: ReadLine) -> list[Any]:
    """A line in plain values: absences, ids of calls, how each was read and which absences it has, in columns, linked
    calls."""
    numbers: dict[int, int] = {id(NONE_GONE): -1}
    several: list[Absences] = []
    which = array("q")
    for read in line.read:
        number = numbers.get(id(read.gone))
        if number is None:
            number = numbers[id(read.gone)] = len(several)
            several.append(read.gone)
        which.append(number)
    facts = [
        array("q", [_NONE if one is None else one for one in column])
        for column in zip(*map(_FACTS, line.read), strict=True)
    ]
    gone = [[[a.node, a.left, a.since, a.why] for a in one.of.values()] for one in several]
    columns = [column.tobytes() for column in (which, *facts)] if line.read else []
    return [gone, [call.id for call in line.calls], [_WAY, *columns], sorted(line.linked)]


def line_of(kept: Any, calls: Iterable[Call]) -> ReadLine:
    """The line that `kept_line` gave, of a session with `calls`."""
    gone, ids, (way, *columns), linked = kept
    several = [Absences({node: Absence(node, *facts) for node, *facts in one}) for one in gone]
    known = {call.id: call for call in calls}
    made = [array("q", column) for column in columns] or [array("q") for _ in (_WAY, *_NAMES)]
    numbers = made[0]
    fits = way == _WAY and len(made) == 1 + len(_NAMES) and all(len(one) == len(ids) for one in made)
    if not fits or any(number >= len(several) for number in numbers):
        raise ValueError("readings of another shape")
    line = ReadLine([], _KeptReads(list(map(_narrow, made)), several), CallAtNode(), {}, set(linked))
    line.calls.extend([known[id_] for id_ in ids])
    for index, call in enumerate(line.calls):
        line.index[call.id] = index
        line.at.put(call.sent_head, index)
        line.at.put(call.response_head, index)
    return line


def _narrow(column: array[int]) -> array[int]:
    """The same figures, in half the memory where they fit; the one in place of what is not known does not."""
    try:
        return array("i", column)
    except OverflowError:
        return column


class _KeptReads(Sequence[ReadContext]):
    """How contexts were read, in columns, each made when it is asked for. The first column are the numbers of absences,
    -1 for none."""

    def __init__(self, columns: Sequence[array[int]], absences: Sequence[Absences]) -> None:
        self._numbers, *self._columns = columns
        self._absences = [*absences, NONE_GONE]
        self._made: dict[int, ReadContext] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    def residual(self, at: int) -> tuple[int, int] | None:
        """As `residual_of`."""
        told = self._columns
        return (told[_NUMBER][at], told[_RESIDUAL][at]) if told[_REPORTED][at] else None

    @overload
    def __getitem__(self, at: int) -> ReadContext: ...

    @overload
    def __getitem__(self, at: slice) -> list[ReadContext]: ...

    def __getitem__(self, at: int | slice) -> ReadContext | list[ReadContext]:
        if isinstance(at, slice):
            return [self[index] for index in range(*at.indices(len(self)))]
        at = range(len(self))[at]
        found = self._made.get(at)
        if found is None:
            told: dict[str, Any] = {
                name: None if column[at] == _NONE else bool(column[at]) if name in _WHETHER else column[at]
                for name, column in zip(_NAMES, self._columns, strict=True)
            }
            if len(self._made) >= _MADE:
                self._made = {}
            # Two threads may ask at once: both get the same.
            found = self._made.setdefault(at, ReadContext(gone=self._absences[self._numbers[at]], **told))
        return found


def residual_of(read: Sequence[ReadContext], at: int) -> tuple[int, int] | None:
    """The number of a call and the residual of its report, of the call at `at`; None where it has none. Who asks goes
    through all calls: of those that are kept nothing else is made."""
    if isinstance(read, _KeptReads):
        return read.residual(at)
    one = read[at]
    return (one.number, one.residual) if one.reported else None


def has_report(call: Call) -> bool:
    """Whether the recording says how large the context of `call` was: its provider reported it, or its client did."""
    return reported_input(call) > 0


def reported_input(call: Call) -> int:
    """The input that was reported for `call`, in tokens, else the client's own figure; 0 without either."""
    return call.usage.input if call.usage is not None else call.estimated_input or 0


def is_estimate(call: Call) -> bool:
    """Whether what is said of the input of `call` is its client's own figure."""
    return call.usage is None


def left_cached(call: Call | None) -> int:
    """Tokens that a call left in the cache."""
    return call.usage.cache_read + call.usage.cache_write if call is not None and call.usage is not None else 0
