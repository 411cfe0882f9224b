"""An open recording: its session so far, and reading on as it grows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from ctxtui.core.errors import CtxtuiError
from ctxtui.core.session import Event, Session, Skipped
from ctxtui.services.recordings.file_tail import GONE, FileChange, FileStamp, file_stamp
from ctxtui.services.recordings.first_reading import FirstReading, begin_file, no_context_error
from ctxtui.transcripts.kit.file_head import HEAD_BYTES

_PAUSE_FACTOR: Final = 5.0
"""The pause before everything is read again, as a multiple of the reading time."""
_CHECK_ALL_SECONDS: Final = 1.0
"""Seconds between checks of companion files that do not grow."""


@dataclass(slots=True)
class RereadSource:
    """A source, such as a database, that is read again whole when one of `files` has changed."""

    files: tuple[Path, ...]
    begin: Callable[[], tuple[FirstReading, Iterator[list[Event]]]]
    last_stamps: list[FileStamp] = field(init=False)

    def __post_init__(self) -> None:
        self.last_stamps = self.stamps()

    def stamps(self) -> list[FileStamp]:
        return [file_stamp(path) for path in self.files]


@dataclass(frozen=True, slots=True)
class RecordingNews:
    """New events of a recording; after a rewrite `session` has all of them, else it is None."""

    events: list[Event] = field(default_factory=list)
    session: Session | None = None

    def __bool__(self) -> bool:
        return bool(self.events) or self.session is not None


class Loaded:
    """An open recording: its session, and the way to read on.

    `fetch` reads, and may run in a worker thread; `add_news` folds the news into `session`, in the thread that shows
    it. After a rewrite `session` is another object.
    """

    def __init__(
        self,
        session: Session,
        name: str,
        path: Path | None = None,
        reading: FirstReading | None = None,
        anew: RereadSource | None = None,
    ) -> None:
        self.name = name
        """The recording's file name, ``standard input`` or a stored id."""
        self.path = path
        """The main file; None for a stream and a stored session."""
        self.gone = False
        """Whether the file is deleted now."""
        self._session = session
        self._reading = reading
        self._anew = anew
        self._bytes_before = 0
        self._looked_at_all = 0.0
        self._failed_on: FileStamp | None = None
        self._not_before = 0.0
        """The earliest time to read everything again (monotonic seconds)."""

    @property
    def session(self) -> Session:
        return self._session

    @property
    def source(self) -> str:
        """The format, as in `Described.source`, or the reader's name while that is unknown."""
        return self._session.about.source or (self._reading.form.name if self._reading else "ctxtui")

    @property
    def bytes_read(self) -> int:
        """Bytes read of all files; a rewritten file counts again."""
        return self._bytes_before + (self._reading.bytes_read if self._reading else 0)

    @property
    def paths(self) -> list[Path]:
        """The main file and the companions found so far; [] for a stream or a `RereadSource`."""
        return [tail.path for tail in self._reading.files()] if self._reading else []

    @property
    def is_stored(self) -> bool:
        """Whether `name` is its id in ctxtui's database: a stored session, or a chat."""
        return self.path is None and self._reading is None

    @property
    def transcript(self) -> Path | None:
        """The client's own transcript; None if the recording is not joined with one."""
        return None

    @property
    def skipped(self) -> list[Skipped]:
        """Parts that could not be read: records, the incomplete end of each file, missing files."""
        return [*self._session.skipped, *(self._reading.incomplete() if self._reading else [])]

    @property
    def lines(self) -> int:
        return self._reading.lines if self._reading else 0

    @property
    def follows(self) -> bool:
        """Whether there is a file that may grow, or a source to read again."""
        return self._anew is not None or (self._reading is not None and self._reading.main is not None)

    @property
    def holds_context(self) -> bool:
        return self._reading is None or self._reading.has_context

    def check(self) -> None:
        """Raise `NoContext` if the first reading found no model context."""
        reading = self._reading
        if reading is not None and not reading.has_context:
            raise no_context_error(reading.head, reading.name, str(self.path or ""))

    def fetch(self) -> RecordingNews:
        """Read what was appended since the last call; everything after a rewrite.

        No news while the file is gone or unreadable after a rewrite. Raises `NotFound`, `Unreadable`.
        """
        reading = self._reading
        if reading is not None and self._anew is not None:
            return self._read_anew(reading, self._anew)
        if reading is None or reading.main is None:
            return RecordingNews()
        if self._failed_on is not None:
            return self._restart(reading)
        change = reading.main.check()
        self.gone = change == FileChange.GONE
        if self.gone:
            return RecordingNews()
        now = time.monotonic()
        all_ = now - self._looked_at_all > _CHECK_ALL_SECONDS
        self._looked_at_all = now if all_ else self._looked_at_all
        parts = reading.companion_changes(now, all_)
        if {FileChange.REWRITTEN, FileChange.GONE} & {change, *parts.values()}:
            return self._restart(reading)
        grown = [path for path, became in parts.items() if became == FileChange.GREW]
        return self._read_on(reading, change == FileChange.GREW, grown)

    def _read_on(self, reading: FirstReading, main: bool, grown: list[Path]) -> RecordingNews:
        readers = [*([reading.reader] if main else []), *(reading.parts[path].reader for path in grown)]
        if any(reader.rereads for reader in readers):
            return self._restart(reading)
        events: list[Event] = []
        if main and reading.main is not None:
            short = len(reading.head) < HEAD_BYTES
            for batch in reading.read_main(reading.main.read_new()):
                events += batch
            if short and reading.is_misjudged():
                return self._restart(reading)
        for path in grown:
            for batch in reading.read_part(path):
                events += batch
        if grown:
            # The reader holds events of bodies back until all new files are read.
            events += reading.reader.settle()
        for batch in reading.read_companions():
            events += batch
        return RecordingNews(events)

    def _restart(self, old: FirstReading) -> RecordingNews:
        assert old.main is not None
        begun, stamp = time.monotonic(), file_stamp(old.main.path)
        if stamp == self._failed_on or begun < self._not_before:
            return RecordingNews()
        try:
            fresh, events = _read_whole(begin_file(old.main.path, old.bodies))
        except CtxtuiError:
            # Partly rewritten, or deleted again: keep the session until the file changes once more.
            self._failed_on = stamp
            return RecordingNews()
        self._failed_on, self._not_before = None, _end_pause(begun)
        return self._replace_reading(old, fresh, events)

    def _read_anew(self, old: FirstReading, source: RereadSource) -> RecordingNews:
        begun = time.monotonic()
        stamps = source.stamps()
        self.gone = stamps[0] == GONE
        if stamps == source.last_stamps or self.gone or begun < self._not_before:
            return RecordingNews()
        try:
            fresh, events = _read_whole(source.begin())
        except CtxtuiError:
            # Locked, or partly written: keep the session until it can be read.
            self._not_before = time.monotonic() + _CHECK_ALL_SECONDS
            return RecordingNews()
        source.last_stamps, self._not_before = stamps, _end_pause(begun)
        if not fresh.has_context or _content_key(fresh.session) == _content_key(old.session):
            return RecordingNews()
        return self._replace_reading(old, fresh, events)

    def _replace_reading(self, old: FirstReading, fresh: FirstReading, events: list[Event]) -> RecordingNews:
        self._bytes_before += old.bytes_read
        self._reading = fresh
        return RecordingNews(events, fresh.session)

    def add_news(self, news: RecordingNews) -> list[Event]:
        """Fold `news` into the session; returns the events."""
        if news.session is not None:
            self._session = news.session
        else:
            self._session.fold(news.events)
        return news.events

    def more(self) -> list[Event]:
        return self.add_news(self.fetch())


def _end_pause(begun: float) -> float:
    now = time.monotonic()
    return now + _PAUSE_FACTOR * (now - begun)


def _read_whole(begun: tuple[FirstReading, Iterator[list[Event]]]) -> tuple[FirstReading, list[Event]]:
    reading, chunks = begun
    events = [event for batch in chunks for event in batch]
    reading.session.fold(events)
    return reading, events


def _content_key(session: Session) -> tuple[object, ...]:
    return session.about, session.calls, session.threads, len(session.tree), session.happenings
