"""Opening a recording: a file with its companions, a pipe, standard input."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Final

from ctxtui.core.errors import CtxtuiError, NoContext
from ctxtui.core.session import Event
from ctxtui.services.recordings.body_folder import INDEX, BodySession, session_at, stream_of
from ctxtui.services.recordings.databases.address import is_database, parted
from ctxtui.services.recordings.databases.sessions import roots, rows, rows_of
from ctxtui.services.recordings.discover import HERE, FoundRecording, placed
from ctxtui.services.recordings.file_tail import SLICE, Tail, is_stream, unreadable
from ctxtui.services.recordings.first_reading import FirstReading, begin, begin_file
from ctxtui.services.recordings.joined_recording import JoinedPaths, JoinedRecording, paths_of
from ctxtui.services.recordings.multi_file import gathered
from ctxtui.services.recordings.recording import Loaded, ReadAnew, RecordingNews
from ctxtui.transcripts.reader import NeedsContexts

_ARCHIVE: Final = b"PK\x03\x04"


def opening(path: Path, *, usage: bool = False, own: str | None = None) -> tuple[Loaded, Iterator[RecordingNews]]:
    """An open recording with nothing read yet, and its first reading: take each `RecordingNews` as it comes.

    What ctxtui recorded of a program is opened together with the program's own transcript of the session, whichever of
    the two `path` is: `own` is where that transcript is known to be ("": the recording alone; None: it is looked for).

    For a screen that shows the first blocks of a large file while the rest is read. Of a database that holds several
    sessions the newest is read, or the one that `path` names (``DATABASE#ID``); so of a folder of Claude Code's bodies,
    with the session's transcript where that is found. `usage` as for `FirstReading.begin`.

    Raises `NotFound`, `Unreadable`, `NoContext`.
    """
    pair = paths_of(path) if own is None else JoinedPaths(path, Path(own)) if own else None
    if pair is not None:
        return _together(pair, usage)
    database, session = parted(path)
    written = session_at(path)
    try:
        stream = is_stream(database)
    except OSError as error:
        raise unreadable(path, error) from error
    if stream:
        file = path.open("rb")
        reading, chunks = begin(path.name, iter(lambda: file.read(SLICE), b""))
        loaded = Loaded(reading.session, path.name, None, reading)
    elif written is not None and written.transcript is not None:
        reading, chunks = begin_file(written.transcript, written.folder)
        loaded = Loaded(reading.session, written.transcript.name, written.transcript, reading)
    elif written is not None:
        anew = _bodies_anew(written, path)
        reading, chunks = anew.begin()
        loaded = Loaded(reading.session, path.name, path, reading, anew)
    elif is_database(database):
        anew = _anew(database, session or next((one.id for one in roots(database)), ""), str(path))
        reading, chunks = anew.begin()
        loaded = Loaded(reading.session, path.name, path, reading, anew)
    elif (pieces := gathered(path)) is not None:
        reading, chunks = begin(path.name, pieces, str(path))
        loaded = Loaded(reading.session, path.name, path, reading)
    elif _is_archive(path):
        # It does not only grow: its directory is overwritten by what comes and written again behind it.
        anew = ReadAnew((path,), lambda: begin(path.name, Tail(path).slices(), str(path)))
        reading, chunks = anew.begin()
        loaded = Loaded(reading.session, path.name, path, reading, anew)
    else:
        reading, chunks = begin_file(path, usage=usage)
        loaded = Loaded(reading.session, path.name, path, reading)
    return loaded, map(RecordingNews, chunks)


def _together(pair: JoinedPaths, usage: bool) -> tuple[Loaded, Iterator[RecordingNews]]:
    def begin(path: Path) -> tuple[Loaded, Iterator[RecordingNews]]:
        return opening(path, usage=usage, own="")

    def look() -> Path | None:
        found = paths_of(pair.wire)
        return found.own if found is not None else None

    joined = JoinedRecording(begin(pair.wire), pair.own, begin, look)
    return joined, joined.first()


def _is_archive(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_ARCHIVE)) == _ARCHIVE
    except OSError:
        return False  # whoever opens it next says why


def _anew(database: Path, session: str, place: str) -> ReadAnew:
    """How `session` of `database` is read, each time that the database or the log of its writes has changed."""

    def read() -> tuple[FirstReading, Iterator[list[Event]]]:
        return begin(database.name, rows(database, rows_of(database, session) if session else None), place)

    return ReadAnew((database, database.with_name(f"{database.name}-wal")), read)


def _bodies_anew(written: BodySession, path: Path) -> ReadAnew:
    """How the bodies of a session without a transcript are read, each time that one came."""
    return ReadAnew((written.folder, written.folder / INDEX), lambda: begin(path.name, stream_of(written), str(path)))


def load(path: Path, progress: Callable[[int], None] | None = None, *, own: str | None = None) -> Loaded:
    """The recording in the file `path`, read to its end; `progress` is told the bytes read so far; `own` as for
    `opening`.

    Raises `NotFound`, `Unreadable` and, for a file in which no model context is found, `NoContext`.
    """
    loaded, news = opening(path, own=own)
    return finished(loaded, news, progress)


def load_usage(path: Path, *, own: str | None = None) -> Loaded:
    """The recording in the file `path` as far as it takes to know what its calls used: their contexts may be left out.

    Raises as `load` does.
    """
    try:
        return finished(*opening(path, usage=True, own=own))
    except (NeedsContexts, NoContext, UnicodeError):
        return load(path, own=own)  # a file without any call has a context all the same, or says why not


def finished(loaded: Loaded, news: Iterable[RecordingNews], progress: Callable[[int], None] | None = None) -> Loaded:
    """`loaded` with its whole first reading taken. Raises `NoContext` where that brought no context."""
    for some in news:
        loaded.take(some)
        if progress is not None:
            progress(loaded.bytes_read)
    loaded.check()
    return loaded


def content(path: Path) -> bytes:
    """The recording `path` as its reader takes it: the bytes of a file, the rows of one session of a database, several
    files as one stream. Raises `Unreadable`."""
    database, session = parted(path)
    if is_database(database):
        session = session or next((one.id for one in roots(database)), "")
        return b"".join(rows(database, rows_of(database, session) if session else None))
    written = session_at(path)
    if written is not None and written.transcript is None:
        return b"".join(stream_of(written))
    if written is not None:
        path = written.transcript or path
    pieces = gathered(path)
    if pieces is not None:
        return b"".join(pieces)
    try:
        return path.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from error


def holds_context(path: Path) -> bool:
    """Whether the file `path` says anything to a model; read only as far as it takes to know."""
    try:
        loaded, news = opening(path)
        for some in news:
            loaded.take(some)
            if loaded.holds_context:
                return True
    except CtxtuiError:
        return False
    return False


def newest_here(found: Iterable[FoundRecording], around: Iterable[Path]) -> FoundRecording | None:
    """The first of `found` (newest first) that ran in one of the directories `around` and holds a context; where none
    does, the first that ran there: opening it says what it is instead."""
    bare: FoundRecording | None = None
    for one in placed(found, around):
        if one.group == HERE:
            if holds_context(one.path):
                return one
            bare = bare or one
    return bare


def load_stream(stream: BinaryIO | None = None, name: str = "standard input") -> Loaded:
    """The recording that `stream` (standard input by default) holds. Raises `NoContext`."""
    source = sys.stdin.buffer if stream is None else stream
    reading, chunks = begin(name, iter(lambda: source.read(SLICE), b""))
    return finished(Loaded(reading.session, name, None, reading), map(RecordingNews, chunks))
