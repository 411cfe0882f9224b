"""Open a recording: a file with its companions, a pipe, or standard input."""

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
    """Open a recording without reading it; returns it with its first reading, `RecordingNews` to be taken.

    For a screen that shows the first blocks of a large file while the rest is read. What ctxtui recorded of a program
    is joined with the program's own transcript, whichever of the two `path` is; `own` is the transcript's path if known
    ("": do not join; None: look for it). Of a database with several sessions the newest is read, or the one that `path`
    names (``DATABASE#ID``); likewise of a folder of Claude Code's bodies. `usage` as for `begin`.

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
    """A recording that is not a plain file.

    `path` is None for a pipe, `name` is used to detect the format. It is read again as a whole when one of `files`
    changed.
    """

    path: Path | None
    name: str
    pieces: Callable[[], Iterator[bytes]]
    files: tuple[Path, ...] = ()

    def begin(self) -> tuple[FirstReading, Iterator[list[Event]]]:
        return begin(self.name, self.pieces(), str(self.path or ""))


def _source_of(path: Path) -> _Source | None:
    """The source of `path`; None for a plain file or a session of bodies that has a transcript."""
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
    # A ZIP archive does not only grow: new members overwrite its directory, which is written again after them.
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
    """Read the recording in the file `path` to its end.

    `progress` gets the bytes read so far; `own` as for `opening`. Raises `NotFound`, `Unreadable`, and `NoContext` if
    the file holds no model context.
    """
    loaded, news = opening(path, own=own)
    return finished(loaded, news, progress)


def load_usage(path: Path, *, own: str | None = None) -> Loaded:
    """Read the usage of the calls in the file `path`; contexts may be left out. Raises what `load` raises."""
    try:
        return finished(*opening(path, usage=True, own=own))
    except (NeedsContexts, NoContext, UnicodeError):
        return load(path, own=own)  # a file without calls may hold context; else this raises the reason


def finished(loaded: Loaded, news: Iterable[RecordingNews], progress: Callable[[int], None] | None = None) -> Loaded:
    """Take the whole first reading and return `loaded`. Raises `NoContext` if there is no context."""
    for some in news:
        loaded.take(some)
        if progress is not None:
            progress(loaded.bytes_read)
    loaded.check()
    return loaded


def content(path: Path) -> bytes:
    """The bytes of the recording `path` as its reader gets them. Raises `Unreadable`.

    For a database the rows of one session, for several files one stream.
    """
    source = _source_of(path)
    if source is not None:
        return b"".join(source.pieces())
    written = session_at(path)
    try:
        return (path if written is None else written.transcript or path).read_bytes()
    except OSError as error:
        raise unreadable(path, error) from error


def holds_context(path: Path) -> bool:
    """True if the file `path` holds model context; reads only as much as needed."""
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
    """The first of `found` (newest first) that ran in a directory of `around` and holds a context.

    If none holds a context, the first that ran there: opening it reports what it is instead.
    """
    bare: FoundRecording | None = None
    for one in placed(found, around):
        if one.group == HERE:
            if holds_context(one.path):
                return one
            bare = bare or one
    return bare


def load_stream(stream: BinaryIO | None = None, name: str = "standard input") -> Loaded:
    """Read the recording from `stream` (standard input by default). Raises `NoContext`."""
    source = sys.stdin.buffer if stream is None else stream
    reading, chunks = begin(name, iter(lambda: source.read(SLICE), b""))
    return finished(Loaded(reading.session, name, None, reading), map(RecordingNews, chunks))
