"""Read a transcript together with a record of its exchanges that lies in other files, as one session."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from ctxtui.core.session import Event, Session, Skipped
from ctxtui.core.tree import Tree
from ctxtui.transcripts.joined import SessionJoin, changes
from ctxtui.transcripts.reader import Reader

Tell = Callable[[list[Event]], list[Event]]


class JoinedReader:
    """Reads the file that was opened with `main`, and joins what companion files of the other record say.

    `beside` makes the reader of such a file on the tree `apart` (None: the file belongs to the record of `main`), and
    `settle` gives what they say together, from the session as `main` tells it. `transcript`: `main` reads the
    transcript; else it reads the exchanges. `union` as for `SessionJoin`.
    """

    def __init__(
        self,
        main: Reader,
        tree: Tree,
        beside: Callable[[str], Reader | None],
        *,
        transcript: bool = True,
        union: bool = True,
        apart: Tree | None = None,
        settle: Callable[[Session], list[Event]] = lambda session: [],
    ) -> None:
        self.main = main
        self._beside, self._settle = beside, settle
        self._first, self._other, self._told = Session(tree), Session(apart or tree), Session(tree)
        wire, own = (self._other, self._first) if transcript else (self._first, self._other)
        self._join = SessionJoin(wire, own, leads=transcript, union=union)
        self._begun = False

    @property
    def tail(self) -> Skipped | None:
        """What is still incomplete at the end of the main file."""
        return self.main.tail

    def feed(self, data: bytes) -> list[Event]:
        """The events that `data` completes, as the main file alone has them until `settle`."""
        return self._tell(self.main.feed(data))

    def settle(self) -> list[Event]:
        """How things stand at the end, joined with what lies beside it."""
        if not self._begun:
            return self._tell(self.main.settle())
        self._first.fold(self.main.settle())
        self._other.fold(self._settle(self._first))
        joined = self._join.joined()
        before, self._told = self._told, joined
        return changes(before, joined)

    def part(self, name: str) -> Reader:
        """The reader of a companion file, of either record."""
        other = self._beside(name)
        if other is None:
            return _Part(self.main.part(name), self._tell)
        self._begun = True
        return _Part(other, self._hold)

    def _tell(self, events: list[Event]) -> list[Event]:
        self._first.fold(events)
        self._told.fold(events)
        return events

    def _hold(self, events: list[Event]) -> list[Event]:
        self._other.fold(events)
        return []


class _Part(Struct, frozen=True):
    """Reads a companion file; `tell` gives what is told of its events at once."""

    reader: Reader
    tell: Tell

    @property
    def tail(self) -> Skipped | None:
        """What is still incomplete at its end."""
        return self.reader.tail

    def feed(self, data: bytes) -> list[Event]:
        """The events that `data` completes."""
        return self.tell(self.reader.feed(data))

    def settle(self) -> list[Event]:
        """The events at the end of the bytes so far."""
        return self.tell(self.reader.settle())

    def part(self, name: str) -> Reader:
        """No companions of its own."""
        return self.reader.part(name)
