"""Opens what ctxtui recorded of a program together with the program's own transcript."""

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
from ctxtui.services.recordings.databases.address import split_address
from ctxtui.services.recordings.discover import find_recordings, id_of, match_transcripts
from ctxtui.services.recordings.recording import Loaded, RecordingNews
from ctxtui.transcripts.joined import SessionJoin, events_between

OpenedRecording = tuple[Loaded, Iterator[RecordingNews]]
"""A recording, and its first reading: the news of all that is in it so far."""
_MAX_LEVELS_UP: Final = 3
"""Folders above a transcript whose names may hold its session's id."""
_CHECK_SECONDS: Final = 2.0
"""Seconds between checks for a missing transcript."""


class JoinedPaths(Struct, frozen=True):
    """ctxtui's recording (`wire`) and the program's own transcript (None: not there yet)."""

    wire: Path
    own: Path | None


def find_joined_paths(path: Path) -> JoinedPaths | None:
    """The two recordings of a program, if `path` is one of them.

    None if ctxtui did not record it.
    """
    folder, file = attached_dir(), os.path.abspath(path)
    if os.path.dirname(file) == str(folder):
        return JoinedPaths(path, _transcript_of(file))
    # A file with a fixed name is named for its session by a folder above it, as Kimi Code's is.
    names = (path.name, *(parent.name for parent in list(Path(file).parents)[:_MAX_LEVELS_UP]))
    ids = [split_address(path)[1]] if split_address(path)[1] else [id_of(name) for name in names if name]
    wire = next((wire for id_ in ids if os.path.isfile(wire := folder / f"{id_}.jsonl")), None)
    if wire is None or _transcript_of(str(wire)) != Path(file):
        return None
    return JoinedPaths(wire, path)


def _transcript_of(wire: str) -> Path | None:
    own = match_transcripts(find_recordings(Path.cwd(), clients=load().settings.clients)).get(wire)
    return Path(own) if own is not None else None


class JoinedRecording(Loaded):
    """ctxtui's recording `wire` of a program, joined with the program's own transcript `own`.

    The transcript may appear later (None: not there yet). `begin` opens it; `look` returns its path.
    """

    def __init__(
        self,
        wire: OpenedRecording,
        own: Path | None,
        begin: Callable[[Path], OpenedRecording],
        look: Callable[[], Path | None],
    ) -> None:
        self._wire, self._first = wire
        super().__init__(Session(self._wire.session.tree), self._wire.name, self._wire.path)
        self._begin, self._find_transcript = begin, look
        self._own_path = own
        self._own: Loaded | None = None
        self._join = SessionJoin(self._wire.session, Session())
        self._reported = Session(self._wire.session.tree)
        """The session as reported so far."""
        self._own_error: Skipped | None = None
        self._due = 0.0

    @property
    def source(self) -> str:
        return self._wire.source

    @property
    def bytes_read(self) -> int:
        return self._wire.bytes_read + (self._own.bytes_read if self._own is not None else 0)

    @property
    def paths(self) -> list[Path]:
        """The files of both, ctxtui's recording first."""
        return [*self._wire.paths, *(self._own.paths if self._own is not None else ())]

    @property
    def skipped(self) -> list[Skipped]:
        sides = [self._wire, *([self._own] if self._own is not None else [])]
        later_records = [record for side in sides for record in side.skipped[len(side.session.skipped) :]]
        return [*self._session.skipped, *later_records, *([self._own_error] if self._own_error is not None else [])]

    @property
    def lines(self) -> int:
        return self._wire.lines

    @property
    def follows(self) -> bool:
        return True

    @property
    def holds_context(self) -> bool:
        return self._wire.holds_context or (self._own is not None and self._own.holds_context)

    @property
    def transcript(self) -> Path | None:
        """The program's own transcript; None while it is not joined."""
        return self._own.path if self._own is not None else None

    def check(self) -> None:
        if not self.holds_context:
            self._wire.check()

    def first_reading(self) -> Iterator[RecordingNews]:
        """Read both from the start.

        With a transcript, all events come at the end: only then is it known which calls are on both.
        """
        growing_answers: dict[str, AnswerGrew] = {}
        for news in self._first:
            self._wire.add_news(news)
            growing_answers |= {event.thread: event for event in news.events if isinstance(event, AnswerGrew)}
            yield self._take_events() if self._own_path is None else RecordingNews()
        if self._own_path is not None:
            self._open_transcript(self._own_path)
        news_of_both = self._take_events()
        yield RecordingNews([*news_of_both.events, *growing_answers.values()], news_of_both.session)

    def fetch(self) -> RecordingNews:
        news = self._wire.fetch()
        growing_answers = [event for event in news.events if isinstance(event, AnswerGrew)]
        anew = news.session is not None
        if news:
            self._wire.add_news(news)
        grew = bool(news) | self._fetch_transcript(bool(news))
        self.gone = self._wire.gone
        if anew:
            self._join = SessionJoin(self._wire.session, Session())
            self._reported = Session(self._wire.session.tree)
        if not grew:
            return RecordingNews()
        news_of_both = self._take_events(anew=anew)
        return RecordingNews([*news_of_both.events, *growing_answers], news_of_both.session)

    def _fetch_transcript(self, has_requests: bool) -> bool:
        """Read what is new in the transcript; True if it has appeared or grown.

        Without one, it is looked for when requests arrive.
        """
        if self._own is None:
            now = time.monotonic()
            if not has_requests or now < self._due:
                return False
            self._due = now + _CHECK_SECONDS
            path = self._find_transcript()
            return path is not None and self._open_transcript(path)
        try:
            grew = bool(self._own.more())
        except CtxtuiError as error:
            self._own_error = _report_left_out(error)
            return False
        self._own_error = None
        return grew

    def _open_transcript(self, path: Path) -> bool:
        """Read the transcript; return False if it is left out for now.

        One that cannot be read, or is empty, is reported and left out.
        """
        try:
            own, news = self._begin(path)
            for batch in news:
                own.add_news(batch)
        except CtxtuiError as error:
            self._own_error = _report_left_out(error)
            return False
        self._own, self._own_error = own, None
        return True

    def _take_events(self, *, anew: bool = False) -> RecordingNews:
        if self._own is not None:
            self._join.own = self._own.session
        before, self._reported = self._reported, self._join.join()
        events = None if anew else events_between(before, self._reported)
        return RecordingNews([], self._join.join()) if events is None else RecordingNews(events)


def _report_left_out(error: CtxtuiError) -> Skipped:
    return Skipped(1, f"the client's own transcript is left out: {error}")
