"""Reads a recording from its beginning: its files, their readers, and the resulting events."""

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
from ctxtui.services.recordings.companion_files import (
    RECENT_SECONDS,
    CompanionFolders,
    CompanionPart,
    companion_folders,
)
from ctxtui.services.recordings.discover import id_of
from ctxtui.services.recordings.file_tail import FileChange, FileTail
from ctxtui.transcripts.kit.file_head import HEAD_BYTES
from ctxtui.transcripts.reader import Reader
from ctxtui.transcripts.registry import Format

EVENT_BATCH_BYTES: Final = 1 << 20
"""Bytes whose events are yielded together: few enough for a responsive screen."""


def no_context_error(head: bytes, name: str, place: str = "") -> NoContext:
    """The error for a file without model context, which says what the file is instead."""
    return NoContext(f"no model context: this is {describe_file(head, name)}", place=place or name)


class FirstReading(Struct):
    """The state of a recording that is read from its beginning, and then followed.

    A reader turns bytes into events; its `settle` reads the rest as if no more data came.
    `head` holds the first bytes of the main file, at most `HEAD_BYTES`.
    """

    name: str
    form: Format
    session: Session
    reader: Reader
    head: bytes = b""
    id: str = ""
    """"" until the recording names it."""
    lines: int = 0
    """Line ends read of the main file."""
    main: FileTail | None = None
    parts: dict[Path, CompanionPart] = field(default_factory=dict)
    folders: CompanionFolders | None = None
    bodies: Path | None = None
    """An additional folder of request bodies."""
    has_context: bool = False
    """Whether model context was read, folded or not: another thread may do the folding."""

    @property
    def bytes_read(self) -> int:
        return sum(tail.offset for tail in self.files())

    def files(self) -> list[FileTail]:
        """The main file, if it is a file, and its companions."""
        return [*([self.main] if self.main else []), *(part.tail for part in self.parts.values())]

    def read_main(self, data: Iterable[bytes]) -> Iterator[list[Event]]:
        """Yield events of the main file, of new companions (formats with bodies), and the rest."""
        for events in _batch_events(self.reader, map(self._note_head, data)):
            yield self._note_id(events)
        if self.form.bodies:
            # Before `settle`: its events (title, tips) depend on the bodies.
            yield from self.read_companions()
        yield self._note_id(self.reader.settle())

    def _note_head(self, piece: bytes) -> bytes:
        if len(self.head) < HEAD_BYTES:
            self.head += piece[: HEAD_BYTES - len(self.head)]
        self.lines += piece.count(b"\n")
        return piece

    def is_misjudged(self) -> bool:
        """True if the head, which has grown, now indicates another format."""
        form = detect(self.head, self.name)
        return form is not None and form.name != self.form.name

    def read_companions(self) -> Iterator[list[Event]]:
        """Yield the events of new companion files, if a folder has changed."""
        if self.folders is None or not self.folders.has_changed():
            return
        news = False
        for path in self.new_companions():
            self.parts[path] = CompanionPart(FileTail(path), self.reader.part(path.name))
            yield from self.read_part(path)
            news = True
        if news:
            yield self._note_context(self.reader.settle())

    def new_companions(self) -> list[Path]:
        """The companion files that are not read yet."""
        # The session's possible ids: from its content and from its file name.
        ids = {id_ for id_ in (self.id, id_of(self.name)) if id_}
        paths = self.folders.list_files(ids) if self.folders is not None else []
        return [path for path in paths if path not in self.parts and (self.main is None or path != self.main.path)]

    def _note_id(self, events: list[Event]) -> list[Event]:
        named = [event.id for event in events if isinstance(event, Described) and event.id]
        self.id = named[-1] if named else self.id
        return self._note_context(events)

    def _note_context(self, events: list[Event]) -> list[Event]:
        self.has_context = self.has_context or any(map(_holds_context, events))
        return events

    def companion_changes(self, now: float, all_: bool) -> dict[Path, FileChange]:
        """The changes of companion files at `now` (monotonic seconds).

        Files that have not grown for `RECENT_SECONDS` are checked only with `all_`.
        """
        watched = ((path, part) for path, part in self.parts.items() if all_ or now - part.grew_at < RECENT_SECONDS)
        return {path: change for path, part in watched if (change := part.tail.check()) != FileChange.NONE}

    def read_part(self, path: Path) -> Iterator[list[Event]]:
        """Yield the events of bytes appended to the companion file `path`."""
        part = self.parts[path]
        part.grew_at = time.monotonic()
        for events in _batch_events(part.reader, part.tail.read_new()):
            yield self._note_context(events)
        yield self._note_context(part.reader.settle())

    def incomplete(self) -> list[Skipped]:
        """The incomplete records at the ends of the files, and missing files."""
        readers = [self.reader, *(part.reader for part in self.parts.values())]
        return [tail for reader in readers if (tail := reader.tail) is not None]


def _batch_events(reader: Reader, data: Iterable[bytes]) -> Iterator[list[Event]]:
    events: list[Event] = []
    size = 0
    for piece in data:
        events += reader.feed(piece)
        size += len(piece)
        if size >= EVENT_BATCH_BYTES:
            yield events
            events, size = [], 0
    if size:
        yield events


def _holds_context(event: Event) -> bool:
    return isinstance(event, CallSeen) or (isinstance(event, TipMoved) and event.head != ROOT)


def begin_file(
    path: Path, bodies: Path | None = None, *, usage: bool = False
) -> tuple[FirstReading, Iterator[list[Event]]]:
    """Begin to read the file `path` and its companions.

    Returns the reading, and its events slice by slice. `bodies` is an additional folder of request bodies; `usage` as
    for `begin_stream`. Raises `NoContext` if no format matches, `NotFound`, `Unreadable`. The iterator raises the last
    two as well.
    """
    tail = FileTail(path)
    reading, chunks = begin_stream(path.name, tail.read_new(), str(path), usage=usage)
    reading.main = tail
    reading.bodies = bodies
    reading.folders = companion_folders(path, reading.form, bodies)
    return reading, chunks


def begin_stream(
    name: str, data: Iterator[bytes], place: str = "", *, usage: bool = False
) -> tuple[FirstReading, Iterator[list[Event]]]:
    """Begin to read `data` as a file called `name`: the reading, and its events slice by slice.

    `place` is for errors ("": the name). With `usage` only the usage of calls is read and no contexts, if the format
    supports it. The iterator raises `NeedsContexts` if this file does not allow that. Raises `NoContext`.
    """
    # A pipe may return few bytes: the format is detected when the head is complete or the data ends.
    pieces: list[bytes] = []
    while sum(map(len, pieces)) < HEAD_BYTES and (piece := next(data, b"")):
        pieces.append(piece)
    head = b"".join(pieces)[:HEAD_BYTES]
    form = detect(head, name)
    if form is None:
        raise no_context_error(head, name, place)
    session = Session()
    reading = FirstReading(name, form, session, ((form.open_usage if usage else None) or form.open)(session.tree))

    def chunks() -> Iterator[list[Event]]:
        yield from reading.read_main(_chain_pieces(pieces, data))
        yield from reading.read_companions()

    return reading, chunks()


def _chain_pieces(pieces: list[bytes], data: Iterator[bytes]) -> Iterator[bytes]:
    while pieces:
        yield pieces.pop(0)
    yield from data
