"""The calls of a thread that are gone through, and how the context of each was read."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from msgspec import Struct

from ctxtui.analysis.read.absence import NONE_GONE, Absences
from ctxtui.core.call import Call


class ReadContext(Struct, frozen=True, kw_only=True, gc=False):
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


class ReadLine(Struct, frozen=True):
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


class ReadStep(Struct, frozen=True):
    """A `call` with a report: the index of the one that it extends, how the last one with a report was read, and the
    residual that its own is held against."""

    call: Call
    base: int | None
    was: ReadContext | None
    level: int


def residual_of(read: Sequence[ReadContext], at: int) -> tuple[int, int] | None:
    """The number of a call and the residual of its report, of the call at `at`; None where it has none."""
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
