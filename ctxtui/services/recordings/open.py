"""Opening a recording: a file with its companions, a pipe, standard input."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from ctxtui.core.errors import CtxtuiError, NoContext
from ctxtui.core.session import Event
from ctxtui.services.recordings.body_folder import INDEX, session_at, stream_of
from ctxtui.services.recordings.databases.address import is_database, parted
from ctxtui.services.recordings.databases.sessions import roots, rows, rows_of
from ctxtui.services.recordings.discover import HERE, FoundRecording, placed
from ctxtui.services.recordings.file_tail import SLICE, Tail, beginning, is_stream, unreadable
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
    with the session's transcript where that is found. `usage` as for `begin`.

    Raises `NotFound`, `Unreadable`, `NoContext`.
    """
    pair = paths_of(path) if own is None else JoinedPaths(path, Path(own)) if own else None
    if pair is not None:
        return _together(pair, usage)
    source = _source_of(path)
    if source is None:
        written = session_at(path)
        main, bodies = (written.transcript or path, written.folder) if written is not None else (path, None)
        reading, chunks = begin_file(main, bodies, usage=usage and bodies is None)
        return Loaded(reading.session, main.name, main, reading), map(RecordingNews, chunks)
    anew = ReadAnew(source.files, source.begin) if source.files else None
    reading, chunks = source.begin()
    return Loaded(reading.session, path.name, source.path, reading, anew), map(RecordingNews, chunks)


class _Source(NamedTuple):
    """A recording that is no plain file: its `path` (None: a pipe), the `name` by which its format is told, its bytes,
    and the `files` of which one has changed where it says something else: it is then read anew as a whole."""

    path: Path | None
    name: str
    pieces: Callable[[], Iterator[bytes]]
    files: tuple[Path, ...] = ()

    def begin(self) -> tuple[FirstReading, Iterator[list[Event]]]:
        return begin(self.name, self.pieces(), str(self.path or ""))


def _source_of(path: Path) -> _Source | None:
    """What `path` names where that is no plain file, nor a session of bodies that has a transcript."""
    database, session = parted(path)
    written = session_at(path)
    if _is_stream(database):
        file = path.open("rb")
        return _Source(None, path.name, lambda: iter(lambda: file.read(SLICE), b""))
    if written is not None:
        anew = (written.folder, written.folder / INDEX)
        return None if written.transcript is not None else _Source(path, path.name, lambda: stream_of(written), anew)
    if is_database(database):
        id_ = session or next((one.id for one in roots(database)), "")
        log = database.with_name(f"{database.name}-wal")
        pieces = lambda: rows(database, rows_of(database, id_) if id_ else None)  # noqa: E731 - asked anew each time
        return _Source(path, database.name, pieces, (database, log))
    if gathered(path) is not None:
        return _Source(path, path.name, lambda: gathered(path) or iter(()))
    # An archive does not only grow: its directory is overwritten by what comes and written again behind it.
    return (
        _Source(path, path.name, lambda: Tail(path).slices(), (path,))
        if beginning(path, len(_ARCHIVE)) == _ARCHIVE
        else None
    )


def _is_stream(path: Path) -> bool:
    try:
        return is_stream(path)
    except OSError as error:
        raise unreadable(path, error) from error


def _together(pair: JoinedPaths, usage: bool) -> tuple[Loaded, Iterator[RecordingNews]]:
    def begin(path: Path) -> tuple[Loaded, Iterator[RecordingNews]]:
        return opening(path, usage=usage, own="")

    def look() -> Path | None:
        found = paths_of(pair.wire)
        return found.own if found is not None else None

    joined = JoinedRecording(begin(pair.wire), pair.own, begin, look)
    return joined, joined.first()


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
    source = _source_of(path)
    if source is not None:
        return b"".join(source.pieces())
    written = session_at(path)
    try:
        return (path if written is None else written.transcript or path).read_bytes()
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
