"""One reading of a recording from its beginning: the files, their readers, and the events that came of them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct, field

from ctxtui.core.errors import NoContext
from ctxtui.core.session import CallSeen, Described, Event, Session, Skipped, TipMoved
from ctxtui.core.tree import ROOT
from ctxtui.services.config.format_registry import describe_file, detect
from ctxtui.services.recordings.companion_files import RECENT, CompanionPart, Folders, folders_of
from ctxtui.services.recordings.discover import id_of
from ctxtui.services.recordings.file_tail import FileChange, Tail
from ctxtui.transcripts.kit.file_head import HEAD_BYTES
from ctxtui.transcripts.reader import Reader
from ctxtui.transcripts.registry import Format

TOLD: Final = 1 << 20
"""Bytes whose events are told together: few enough that taking them keeps a screen alive."""


def no_context(head: bytes, name: str, place: str = "") -> NoContext:
    """The error for a file called `name`, at `place`, that begins with `head` and says nothing to a model: what it is
    instead."""
    return NoContext(f"no model context: this is {describe_file(head, name)}", place=place or name)


class FirstReading(Struct):
    """The state of one reading. `head` are the first bytes of the main file taken so far, at most `HEAD_BYTES`."""

    name: str
    form: Format
    session: Session
    reader: Reader
    head: bytes = b""
    id: str = ""
    """The session's id, as far as the recording has told it."""
    lines: int = 0
    """Line ends in the main file so far."""
    main: Tail | None = None
    parts: dict[Path, CompanionPart] = field(default_factory=dict)
    folders: Folders | None = None
    bodies: Path | None = None
    """A folder with bodies of its requests, beside those that are looked into anyway."""
    found: bool = False
    """Whether anything for a model was read so far, be it folded already or not: who folds may be another thread."""

    @property
    def bytes_read(self) -> int:
        """Bytes taken from all files of this reading."""
        return sum(tail.bytes_read for tail in self.files())

    def files(self) -> list[Tail]:
        """The main file, where it is one, and its companions."""
        return [*([self.main] if self.main else []), *(part.tail for part in self.parts.values())]

    def chunks(self, data: Iterable[bytes]) -> Iterator[list[Event]]:
        """The events of the main file, of some slices together, then of settling it."""
        for events in _told(self.reader, map(self._seen, data)):
            yield self._heard(events)
        if self.form.bodies:
            # How things stand is told when the bodies are known as well.
            yield from self.companions()
        yield self._heard(self.reader.settle())

    def _seen(self, piece: bytes) -> bytes:
        """`piece` of the main file, after what it says of its head and lines."""
        if len(self.head) < HEAD_BYTES:
            self.head += piece[: HEAD_BYTES - len(self.head)]
        self.lines += piece.count(b"\n")
        return piece

    def misjudged(self) -> bool:
        """Whether the head, which has grown, now speaks for another format."""
        form = detect(self.head, self.name)
        return form is not None and form.name != self.form.name

    def companions(self) -> Iterator[list[Event]]:
        """The events of companion files that are new."""
        if self.folders is None or not self.folders.changed():
            return
        news = False
        for path in self.new_companions():
            part = self.parts[path] = CompanionPart(Tail(path), self.reader.part(path.name))
            yield from self._part(part)
            news = True
        if news:
            yield self._noted(self.reader.settle())

    def new_companions(self) -> list[Path]:
        """The companion files that are there and of which nothing is read."""
        # The ids by which the session may go: what its file is called, and what it says.
        ids = {id_ for id_ in (self.id, id_of(self.name)) if id_}
        found = self.folders.files(ids) if self.folders is not None else []
        return [path for path in found if path not in self.parts and (self.main is None or path != self.main.path)]

    def _heard(self, events: list[Event]) -> list[Event]:
        named = [event.id for event in events if isinstance(event, Described) and event.id]
        self.id = named[-1] if named else self.id
        return self._noted(events)

    def _noted(self, events: list[Event]) -> list[Event]:
        self.found = self.found or any(map(_says, events))
        return events

    def changes(self, now: float, all_: bool) -> dict[Path, FileChange]:
        """What became of the companion files; of those long silent only when `all_`."""
        watched = ((path, part) for path, part in self.parts.items() if all_ or now - part.heard < RECENT)
        return {path: change for path, part in watched if (change := part.tail.look()) != FileChange.NONE}

    def part(self, path: Path) -> Iterator[list[Event]]:
        """The events of what was appended to the companion file `path`."""
        return self._part(self.parts[path])

    def _part(self, part: CompanionPart) -> Iterator[list[Event]]:
        part.heard = time.monotonic()
        for events in _told(part.reader, part.tail.slices()):
            yield self._noted(events)
        yield self._noted(part.reader.settle())

    def tails(self) -> list[Skipped]:
        """What is still incomplete at the end of each file."""
        readers = [self.reader, *(part.reader for part in self.parts.values())]
        return [tail for reader in readers if (tail := reader.tail) is not None]


def _told(reader: Reader, data: Iterable[bytes]) -> Iterator[list[Event]]:
    """The events that `reader` makes of `data`, those of `TOLD` bytes together."""
    events: list[Event] = []
    taken = 0
    for piece in data:
        events += reader.feed(piece)
        taken += len(piece)
        if taken >= TOLD:
            yield events
            events, taken = [], 0
    if taken:
        yield events


def _says(event: Event) -> bool:
    return isinstance(event, CallSeen) or (isinstance(event, TipMoved) and event.head != ROOT)


def begin_file(
    path: Path, bodies: Path | None = None, *, usage: bool = False
) -> tuple[FirstReading, Iterator[list[Event]]]:
    """A reading of the file `path` and its companions, and the events of what is there now, slice by slice.

    `bodies` is one more folder that bodies of its requests may be in, `usage` as for `begin`.

    Raises `NoContext` where no format fits, `NotFound`, `Unreadable`; the iterator raises the last two as well.
    """
    tail = Tail(path)
    reading, chunks = begin(path.name, tail.slices(), str(path), usage=usage)
    reading.main = tail
    reading.bodies = bodies
    reading.folders = folders_of(path, reading.form, bodies)
    return reading, chunks


def begin(
    name: str, data: Iterator[bytes], place: str = "", *, usage: bool = False
) -> tuple[FirstReading, Iterator[list[Event]]]:
    """As `begin_file`, for any bytes that are called `name`. With `usage` it tells what calls used and keeps no
    contexts, where the format can do that (`NeedsContexts` is raised where the file cannot)."""
    # A pipe gives what it has: the format is chosen when the head is whole or the data at its end.
    held: list[bytes] = []
    while sum(map(len, held)) < HEAD_BYTES and (piece := next(data, b"")):
        held.append(piece)
    head = b"".join(held)[:HEAD_BYTES]
    form = detect(head, name)
    if form is None:
        raise no_context(head, name, place)
    session = Session()
    reading = FirstReading(name, form, session, ((form.open_usage if usage else None) or form.open)(session.tree))

    def chunks() -> Iterator[list[Event]]:
        yield from reading.chunks(_chain(held, data))
        yield from reading.companions()

    return reading, chunks()


def _chain(held: list[bytes], data: Iterator[bytes]) -> Iterator[bytes]:
    while held:
        yield held.pop(0)
    yield from data
