"""What readers of JSON lines share: records out of bytes, and what is told only when nothing more comes for now."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from ctxtui.core import canonical
from ctxtui.core.canonical import Json
from ctxtui.core.session import Event, Happened, Outcome, Skipped
from ctxtui.core.tree import Tree
from ctxtui.transcripts.kit.record_pieces import FoundObject, Piece
from ctxtui.transcripts.kit.records import RecordStream
from ctxtui.transcripts.reader import Reader

_ONCE = Skipped | Happened | Outcome


class Taker(Protocol):
    """Takes the records of one format, in order."""

    def record(self, value: dict[str, Json], found: FoundObject) -> Iterable[Event]:
        """The events of one record; `found` tells where it stands."""

    def standing(self) -> Iterable[Event]:
        """How things stand after the records so far: description, tips. Events that replace earlier ones only."""


class LinesReader:
    """Reads JSON lines for a `Taker`."""

    def __init__(self, taker: Taker) -> None:
        self._taker = taker
        self._stream = RecordStream()
        self._told: list[Event] = []

    @property
    def tail(self) -> Skipped | None:
        """What is still incomplete at the end."""
        return self._stream.tail

    def feed(self, data: bytes) -> list[Event]:
        """The events of the records that `data` completes."""
        events: list[Event] = []
        for piece in self._stream.feed(data):
            events += self._events(piece)
        return events

    def settle(self) -> list[Event]:
        """A last record without its line end, and how things stand, where that is news."""
        events: list[Event] = []
        for piece in self._stream.settle():
            events += self._events(piece)
        standing = list(self._taker.standing())
        if standing != self._told:
            # What a later event of the same id does not replace is told once.
            events += [e for e in standing if not isinstance(e, _ONCE) or e not in self._told]
            self._told = standing
        return events

    def part(self, name: str) -> Reader:
        """No companions: a reader that takes nothing."""
        return LinesReader(_Nothing())

    def _events(self, piece: Piece) -> list[Event]:
        if not isinstance(piece, FoundObject):
            return [Skipped(piece.line, piece.reason)]
        try:
            found = self._taker.record(canonical.loads(piece.raw), piece)
            return [*([Skipped(piece.line, piece.note)] if piece.note else ()), *found]
        except RecursionError:
            why = "nested too deeply to be read"
            return [Skipped(piece.line, f"{piece.note}; {why}" if piece.note else why)]


class _Nothing:
    def record(self, value: dict[str, Json], found: FoundObject) -> Iterable[Event]:
        return ()

    def standing(self) -> Iterable[Event]:
        return ()


def lines_reader(make: Callable[[Tree], Taker]) -> Callable[[Tree], LinesReader]:
    """The `open` of a format of JSON lines."""
    return lambda tree: LinesReader(make(tree))
