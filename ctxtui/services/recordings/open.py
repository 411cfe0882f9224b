"""Open a recording: a file with its companions, a pipe, or standard input."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from ctxtui.core.errors import CtxtuiError, NoContext
from ctxtui.core.session import Event
from ctxtui.live_database import LOG
from ctxtui.services.recordings.body_folder import INDEX, find_body_session, read_bodies
from ctxtui.services.recordings.databases.address import is_database, split_address
from ctxtui.services.recordings.databases.sessions import list_roots, read_rows, session_filter
from ctxtui.services.recordings.discover import HERE, FoundRecording, read_directories
from ctxtui.services.recordings.file_tail import SLICE_BYTES, FileTail, is_stream, read_error, read_head
from ctxtui.services.recordings.first_reading import FirstReading, begin_file, begin_stream
from ctxtui.services.recordings.joined_recording import JoinedPaths, JoinedRecording, find_joined_paths
from ctxtui.services.recordings.multi_file import read_multi_file
from ctxtui.services.recordings.recording import Loaded, RecordingNews, RereadSource
from ctxtui.transcripts.reader import NeedsContexts

_ARCHIVE: Final = b"PK\x03\x04"


def open_recording(
    path: Path, *, usage: bool = False, own: str | None = None
) -> tuple[Loaded, Iterator[RecordingNews]]:
    """Open a recording; return it with the news of its first reading, which the caller must add.

    - A recording of ctxtui's is joined with the client's transcript of the same session, whichever of the two `path`
      is. `own`: the transcript's path ("": do not join; None: look for it).
    - Of a database, or a folder of Claude Code's bodies, the newest session is read, or the one that `path` names
      (``DATABASE#ID``).
    - `usage`: read only the usage of calls and no contexts, if the format supports that (see `begin_stream`).
    Raises `CtxtuiError`, such as `NoContext`.
    """
    pair = find_joined_paths(path) if own is None else JoinedPaths(path, Path(own)) if own else None
    if pair is not None:
        return _open_joined(pair, usage)
    source = _find_source(path)
    if source is None:
        written = find_body_session(path)
        main, bodies = (written.transcript or path, written.folder) if written is not None else (path, None)
        reading, chunks = begin_file(main, bodies, usage=usage and bodies is None)
        return Loaded(reading.session, main.name, main, reading), map(RecordingNews, chunks)
    anew = RereadSource(source.files, source.begin) if source.files else None
    reading, chunks = source.begin()
    return Loaded(reading.session, path.name, source.path, reading, anew), map(RecordingNews, chunks)


class _Source(NamedTuple):
    """A recording that is not a plain file.

    - `path`: None for a pipe.
    - `files`: if one of them changes, everything is read again.
    """

    path: Path | None
    name: str
    pieces: Callable[[], Iterator[bytes]]
    files: tuple[Path, ...] = ()

    def begin(self) -> tuple[FirstReading, Iterator[list[Event]]]:
        return begin_stream(self.name, self.pieces(), str(self.path or ""))


def _find_source(path: Path) -> _Source | None:
    database, session = split_address(path)
    written = find_body_session(path)
    if _is_stream(database):
        file = path.open("rb")
        return _Source(None, path.name, lambda: iter(lambda: file.read(SLICE_BYTES), b""))
    if written is not None:
        anew = (written.folder, written.folder / INDEX)
        return None if written.transcript is not None else _Source(path, path.name, lambda: read_bodies(written), anew)
    if is_database(database):
        id_ = session or next((root.id for root in list_roots(database)), "")
        log = database.with_name(database.name + LOG)
        pieces = lambda: read_rows(database, session_filter(database, id_) if id_ else None)  # noqa: E731 - asked anew each time
        return _Source(path, database.name, pieces, (database, log))
    if read_multi_file(path) is not None:
        return _Source(path, path.name, lambda: read_multi_file(path) or iter(()))
    # A ZIP archive does not only grow: new members overwrite its directory, which is written again after them.
    return (
        _Source(path, path.name, lambda: FileTail(path).read_new(), (path,))
        if read_head(path, len(_ARCHIVE)) == _ARCHIVE
        else None
    )


def _is_stream(path: Path) -> bool:
    try:
        return is_stream(path)
    except OSError as error:
        raise read_error(path, error) from error


def _open_joined(pair: JoinedPaths, usage: bool) -> tuple[Loaded, Iterator[RecordingNews]]:
    def begin(path: Path) -> tuple[Loaded, Iterator[RecordingNews]]:
        return open_recording(path, usage=usage, own="")

    def look() -> Path | None:
        joined_paths = find_joined_paths(pair.wire)
        return joined_paths.own if joined_paths is not None else None

    joined = JoinedRecording(begin(pair.wire), pair.own, begin, look)
    return joined, joined.first_reading()


def load(path: Path, progress: Callable[[int], None] | None = None, *, own: str | None = None) -> Loaded:
    """Read the recording in the file `path` to its end.

    `progress` gets the bytes read so far; `own` as for `open_recording`. Raises `CtxtuiError`, such as `NoContext`.
    """
    loaded, news = open_recording(path, own=own)
    return read_to_end(loaded, news, progress)


def load_usage(path: Path, *, own: str | None = None) -> Loaded:
    """Read the calls in the file `path`, perhaps without contexts. Raises `CtxtuiError`."""
    try:
        return read_to_end(*open_recording(path, usage=True, own=own))
    except (NeedsContexts, NoContext, UnicodeError):
        return load(path, own=own)  # a file without calls may hold context; else this raises the reason


def read_to_end(loaded: Loaded, news: Iterable[RecordingNews], progress: Callable[[int], None] | None = None) -> Loaded:
    """Take the whole first reading and return `loaded`. Raises `NoContext`, and the errors of reading."""
    for batch in news:
        loaded.add_news(batch)
        if progress is not None:
            progress(loaded.bytes_read)
    loaded.check()
    return loaded


def read_content(path: Path) -> bytes:
    """The bytes of the recording `path` as its reader gets them. Raises `CtxtuiError`."""
    source = _find_source(path)
    if source is not None:
        return b"".join(source.pieces())
    written = find_body_session(path)
    try:
        return (path if written is None else written.transcript or path).read_bytes()
    except OSError as error:
        raise read_error(path, error) from error


def holds_context(path: Path) -> bool:
    """Whether the file `path` holds model context; False if it cannot be read."""
    try:
        loaded, news = open_recording(path)
        for batch in news:
            loaded.add_news(batch)
            if loaded.holds_context:
                return True
    except CtxtuiError:
        return False
    return False


def find_newest(recordings: Iterable[FoundRecording], around: Iterable[Path]) -> FoundRecording | None:
    """The first of `recordings` with a context that ran in or below a directory of `around`.

    Without one, the first that ran there, so that opening it reports an error; None if none ran there.
    """
    without_context: FoundRecording | None = None
    for recording in read_directories(recordings, around):
        if recording.group == HERE:
            if holds_context(recording.path):
                return recording
            without_context = without_context or recording
    return without_context


def load_stream(stream: BinaryIO | None = None, name: str = "standard input") -> Loaded:
    """Read the recording from `stream` (None: standard input). Raises `NoContext`."""
    source = sys.stdin.buffer if stream is None else stream
    reading, chunks = begin_stream(name, iter(lambda: source.read(SLICE_BYTES), b""))
    return read_to_end(Loaded(reading.session, name, None, reading), map(RecordingNews, chunks))
