"""The reader interface of all recording formats: bytes in, events out, no IO."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ctxtui.core.session import Event, Skipped


class NeedsContexts(Exception):
    """Raised by a reader of usage if the file must be read with its contexts after all."""


class Reader(Protocol):
    """Turns the bytes of one recording into events.

    Made by a format's `open` with the tree that receives the nodes. Any chunking of the same bytes gives the same
    events in the same order.
    """

    @property
    def tail(self) -> Skipped | None:
        """The incomplete record at the end of the bytes so far, or missing files; None for neither."""
        return None

    @property
    def rereads(self) -> bool:
        """Whether a grown file must be read anew: new bytes may contradict the events of `settle`."""
        return False

    def feed(self, data: bytes) -> list[Event]:
        """Add bytes and return the events of the records they complete.

        Use slices of at most 1 MB inside an event loop.
        """

    def settle(self) -> list[Event]:
        """Read the rest (a line without end, a whole file) as if no more data came.

        May be called again after more `feed`s: a followed file settles many times.
        """

    def part(self, name: str) -> Reader:
        """Return the reader for companion file `name`; without companions it emits nothing."""
        return NoReader()


class NoReader(Reader):
    """Ignores a file beside a recording whose format has no companions."""

    def feed(self, data: bytes) -> list[Event]:
        return []

    def settle(self) -> list[Event]:
        return []


class ChangedReader(Reader):
    """Applies `change` to the events of `reader` and its companions."""

    def __init__(self, reader: Reader, change: Callable[[list[Event]], list[Event]]) -> None:
        self.reader, self._change = reader, change

    @property
    def tail(self) -> Skipped | None:
        return self.reader.tail

    @property
    def rereads(self) -> bool:
        return self.reader.rereads

    def feed(self, data: bytes) -> list[Event]:
        return self._change(self.reader.feed(data))

    def settle(self) -> list[Event]:
        return self._change(self.reader.settle())

    def part(self, name: str) -> Reader:
        return ChangedReader(self.reader.part(name), self._change)
