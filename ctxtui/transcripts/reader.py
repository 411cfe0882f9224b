"""What every reader of a recording can do. Readers do no IO: bytes go in, events come out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ctxtui.core.session import Event, Skipped


class NeedsContexts(Exception):
    """A file says something of which what its calls used cannot be told without their contexts: it is read whole."""


class Reader(Protocol):
    """Turns the bytes of one recording into events; made by a format's `open` with the tree that gets the nodes.

    Any chunking of the same bytes gives the same events in the same order (law 2): what is told after `settle`
    depends on all bytes so far, never on where the slices ended.
    """

    @property
    def tail(self) -> Skipped | None:
        """What is still incomplete at the end of the bytes so far (a cut last line), None if nothing is."""
        return None

    def feed(self, data: bytes) -> list[Event]:
        """The events of the records that `data` completes. Slices of at most 1 MB keep an event loop alive."""

    def settle(self) -> list[Event]:
        """No more data for now: take a last record without its line end, or parse a whole-file format.

        May be called again after more `feed`s: a followed file settles many times.
        """

    def part(self, name: str) -> Reader:
        """The reader for companion file `name`: own bytes and line numbers, same tree and session.

        A file whose content belongs to another session emits nothing, nor does one of a format without companions.
        """
        return NoReader()


class NoReader(Reader):
    """Takes a file that is no part of any session."""

    def feed(self, data: bytes) -> list[Event]:
        return []

    def settle(self) -> list[Event]:
        return []


class ChangedReader(Reader):
    """Tells of `reader` and its companions what `change` makes of their events."""

    def __init__(self, reader: Reader, change: Callable[[list[Event]], list[Event]]) -> None:
        self.reader, self._change = reader, change

    @property
    def tail(self) -> Skipped | None:
        return self.reader.tail

    def feed(self, data: bytes) -> list[Event]:
        return self._change(self.reader.feed(data))

    def settle(self) -> list[Event]:
        return self._change(self.reader.settle())

    def part(self, name: str) -> Reader:
        return ChangedReader(self.reader.part(name), self._change)
