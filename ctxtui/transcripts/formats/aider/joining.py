"""One of aider's two records as the file that was opened, the other as its companion."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from ctxtui.core.session import CallSeen, Event, Skipped, TipMoved
from ctxtui.transcripts.reader import Reader

_Note = Callable[[CallSeen], None]
_Joined = Callable[[], Iterator[Event]]


class JoinedRecord:
    """One of the records as the file that was opened: its own events, then what the other one adds to its calls."""

    def __init__(self, own: Reader, note: _Note, joined: _Joined, beside: Callable[[str], Reader]) -> None:
        self._own, self._note, self._joined, self._beside = own, note, joined, beside
        self._told: list[Event] = []

    @property
    def tail(self) -> Skipped | None:
        """What is still incomplete at the end."""
        return self._own.tail

    def feed(self, data: bytes) -> list[Event]:
        """The events that `data` completes."""
        return self._noted(self._own.feed(data))

    def settle(self) -> list[Event]:
        """How things stand at the end, with what the other record adds."""
        return [*self._noted(self._own.settle()), *self.news()]

    def part(self, name: str) -> Reader:
        """The other record."""
        return self._beside(name)

    def news(self) -> Iterator[Event]:
        """What both records together tell and was not told yet."""
        now = list(self._joined())
        before, self._told = self._told, now
        return (event for event in now if event not in before)

    def _noted(self, events: list[Event]) -> list[Event]:
        for event in events:
            if isinstance(event, CallSeen):
                self._note(event)
        if any(isinstance(event, CallSeen | TipMoved) for event in events):
            # What the record itself tells takes the place of what both told.
            self._told = []
        return events


class OtherRecord:
    """The other record, whose own events are not told: only what it adds to the calls of the one that was opened."""

    def __init__(self, own: Reader, note: _Note, news: Callable[[], Iterable[Event]]) -> None:
        self._own, self._note, self._news = own, note, news

    @property
    def tail(self) -> Skipped | None:
        """What is still incomplete at the end."""
        return self._own.tail

    def feed(self, data: bytes) -> list[Event]:
        """Nothing is told before the end."""
        self._take(self._own.feed(data))
        return []

    def settle(self) -> list[Event]:
        """What it adds."""
        self._take(self._own.settle())
        return list(self._news())

    def part(self, name: str) -> Reader:
        """No companions of its own."""
        return self._own.part(name)

    def _take(self, events: list[Event]) -> None:
        for event in events:
            if isinstance(event, CallSeen):
                self._note(event)
