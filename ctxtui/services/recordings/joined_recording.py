"""What ctxtui recorded of a program, opened together with the program's own transcript of the same session."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

from ctxtui.core.errors import CtxtuiError
from ctxtui.core.session import AnswerGrew, Session, Skipped
from ctxtui.services.config.config import load
from ctxtui.services.config.paths import attached_dir
from ctxtui.services.recordings.databases.address import parted
from ctxtui.services.recordings.discover import find, id_of, own_transcripts
from ctxtui.services.recordings.recording import Loaded, RecordingNews
from ctxtui.transcripts.joined import SessionJoin, events_between

Begun = tuple[Loaded, Iterator[RecordingNews]]
"""An open recording and its first reading."""
_LOOKS: Final = 2.0
"""Seconds between two looks for a transcript that is not there yet."""


class JoinedPaths(Struct, frozen=True):
    """What ctxtui recorded (`wire`), and where the program's own transcript of it is (None: not there, or not yet)."""

    wire: Path
    own: Path | None


def paths_of(path: Path) -> JoinedPaths | None:
    """The two recordings that `path` is one of; None where it is of a program that ctxtui did not record."""
    folder, file = attached_dir(), os.path.abspath(path)
    if os.path.dirname(file) == str(folder):
        return JoinedPaths(path, _own_of(file))
    wire = folder / f"{parted(path)[1] or id_of(path.name)}.jsonl"
    if not wire.is_file() or _own_of(str(wire)) != Path(file):
        return None
    return JoinedPaths(wire, path)


def _own_of(wire: str) -> Path | None:
    own = own_transcripts(find(Path.cwd(), clients=load().settings.clients)).get(wire)
    return Path(own) if own is not None else None


class JoinedRecording(Loaded):
    """The recording `wire` of a program and, as soon as it is there, the program's own transcript, as one session.
    `begin` opens a transcript, `look` says where it is."""

    def __init__(
        self, wire: Begun, own: Path | None, begin: Callable[[Path], Begun], look: Callable[[], Path | None]
    ) -> None:
        self._wire, self._first = wire
        super().__init__(Session(self._wire.session.tree), self._wire.name, self._wire.path)
        self._begin, self._look = begin, look
        self._own_path = own
        self._own: Loaded | None = None
        self._join = SessionJoin(self._wire.session, Session())
        self._told = Session(self._wire.session.tree)
        """What was told so far."""
        self._trouble: Skipped | None = None
        self._due = 0.0

    @property
    def source(self) -> str:
        """That of what ctxtui recorded."""
        return self._wire.source

    @property
    def bytes_read(self) -> int:
        """Of both."""
        return self._wire.bytes_read + (self._own.bytes_read if self._own is not None else 0)

    @property
    def paths(self) -> list[Path]:
        """The files of both, what ctxtui recorded first."""
        return [*self._wire.paths, *(self._own.paths if self._own is not None else ())]

    @property
    def skipped(self) -> list[Skipped]:
        """What could not be read of both, with what is still incomplete."""
        sides = [self._wire, *([self._own] if self._own is not None else [])]
        rest = [one for side in sides for one in side.skipped[len(side.session.skipped) :]]
        return [*self._session.skipped, *rest, *([self._trouble] if self._trouble is not None else [])]

    @property
    def lines(self) -> int:
        """Lines of what ctxtui recorded."""
        return self._wire.lines

    @property
    def follows(self) -> bool:
        """It may go on at any time."""
        return True

    @property
    def holds_context(self) -> bool:
        """Whether either says anything to a model."""
        return self._wire.holds_context or (self._own is not None and self._own.holds_context)

    @property
    def transcript(self) -> Path | None:
        """The program's own transcript, where it is joined."""
        return self._own.path if self._own is not None else None

    def check(self) -> None:
        """Raises `NoContext` where neither brought anything for a model."""
        if not self.holds_context:
            self._wire.check()

    def first(self) -> Iterator[RecordingNews]:
        """The first reading of both: told at its end, because which call is on both is not known before."""
        coming: dict[str, AnswerGrew] = {}
        for news in self._first:
            self._wire.take(news)
            coming |= {event.thread: event for event in news.events if isinstance(event, AnswerGrew)}
            yield self._news() if self._own_path is None else RecordingNews()
        if self._own_path is not None:
            self._open(self._own_path)
        told = self._news()
        yield RecordingNews([*told.events, *coming.values()], told.session)

    def fetch(self) -> RecordingNews:
        """What was new in either."""
        news = self._wire.fetch()
        coming = [event for event in news.events if isinstance(event, AnswerGrew)]
        anew = news.session is not None
        if news:
            self._wire.take(news)
        grew = bool(news) | self._fetch_own(bool(news))
        self.gone = self._wire.gone
        if anew:
            self._join = SessionJoin(self._wire.session, Session())
            self._told = Session(self._wire.session.tree)
        if not grew:
            return RecordingNews()
        told = self._news(anew=anew)
        return RecordingNews([*told.events, *coming], told.session)

    def _fetch_own(self, asked: bool) -> bool:
        """Whether the transcript is there, or has more than before; without one it is looked for where the program
        has `asked` something."""
        if self._own is None:
            now = time.monotonic()
            if not asked or now < self._due:
                return False
            self._due = now + _LOOKS
            path = self._look()
            return path is not None and self._open(path)
        try:
            return bool(self._own.more())
        except CtxtuiError as error:
            self._trouble = _unread(error)
            return False

    def _open(self, path: Path) -> bool:
        """Read the transcript. One that says nothing is looked at again; what cannot be read is said, and left out."""
        try:
            own, news = self._begin(path)
            for some in news:
                own.take(some)
        except CtxtuiError as error:
            self._trouble = _unread(error)
            return False
        self._own = own
        return True

    def _news(self, *, anew: bool = False) -> RecordingNews:
        """What is told now."""
        if self._own is not None:
            self._join.own = self._own.session
        before, self._told = self._told, self._join.joined()
        events = None if anew else events_between(before, self._told)
        return RecordingNews([], self._join.joined()) if events is None else RecordingNews(events)


def _unread(error: CtxtuiError) -> Skipped:
    return Skipped(1, f"the client's own transcript is left out: {error}")
