"""Finds and opens what the user named: a path, a folder, ``-``, or a session id."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Set
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import unquote

from msgspec import Struct

from ctxtui.core.errors import CtxtuiError, NoContext, NotFound, Several
from ctxtui.services.config.package_data import sample_paths
from ctxtui.services.config.paths import database
from ctxtui.services.config.projects import related_directories
from ctxtui.services.config.settings import Settings
from ctxtui.services.recordings.databases.address import MARK, address_of, is_database, split_address
from ctxtui.services.recordings.databases.sessions import find_session, list_roots
from ctxtui.services.recordings.discover import FoundRecording, find_recordings, is_inside, match_transcripts
from ctxtui.services.recordings.folder_scan import find_in_folder
from ctxtui.services.recordings.open import find_newest, load, load_stream, open_recording
from ctxtui.services.recordings.recording import Loaded, RecordingNews
from ctxtui.store.sessions.stored_state import StoredLocation, stored_ids, stored_locations
from ctxtui.store.store import Store

T = TypeVar("T")

STREAM: Final = "-"
LAST: Final = "last"
SHORTEST_PREFIX: Final = 4
"""Minimum characters of the start of an id that names it."""
_MAX_CALL_DIGITS: Final = 9
_MAX_LISTED: Final = 8


class Named(Struct, frozen=True):
    """The target of a name: the file `path`, the stored id `stored`, or neither: standard input.

    - `others`: further recordings in the folder or database that was named, newest first.
    - `trouble`: why ctxtui's database was not searched for the newest session ("": it was).
    """

    path: Path | None = None
    stored: str = ""
    others: tuple[Path, ...] = ()
    trouble: str = ""


class Newest(Struct, frozen=True):
    """The newest session of a directory."""

    id: str
    source: str
    named: Named

    @property
    def name(self) -> str:
        return self.named.stored or str(self.named.path)


def split_call(name: str, mark: str = "@") -> tuple[str, int]:
    """Split ``SESSION@CALL`` into the session's name and the call's number (0: the last).

    A file with that whole name takes precedence.
    """
    session, _, number = name.rpartition(mark)
    is_call = session and number.isdecimal() and len(number) <= _MAX_CALL_DIGITS
    return (session, int(number)) if is_call and not os.path.lexists(os.path.expanduser(name)) else (name, 0)


def locate(name: str, cwd: Path, settings: Settings) -> Named:
    """Find what `name` names.

    - ``-``: standard input.
    - A file, or a folder.
    - ``DATABASE#ID``: a session in a database, also by the start of its id or its title; ``FOLDER#ID``: in a folder of
      bodies.
    - ``last``: the newest session of the directory `cwd` or its repository.
    - An id, or its first characters (at least `SHORTEST_PREFIX`).

    Raises `NotFound`, `Several`, `NoContext`, `Unreadable`, and errors of ctxtui's own database.
    """
    if name == STREAM:
        return Named()
    path = Path(os.path.expanduser(name))
    if os.path.isdir(path):
        first, *older = find_in_folder(path, settings.clients)
        return Named(first, others=tuple(older))
    if os.path.lexists(path):
        return _name_in_database(path)
    file, mark, session = str(path).rpartition(MARK)
    if mark and is_database(Path(file)):
        return Named(address_of(Path(file), find_session(Path(file), unquote(session)).id))
    if os.sep in name or split_address(path)[1]:
        return Named(path)
    if name == LAST:
        return find_last(cwd, settings).named
    recordings = find_recordings(cwd, samples=sample_paths(), clients=settings.clients)
    return _match_id(name, recordings, _query_store(settings, lambda path: stored_ids(path, name)))


def find_last(cwd: Path, settings: Settings) -> Newest:
    """The newest session that ran in the directory `cwd` or its repository.

    Raises `NotFound`; if there is no recording in a file, also errors of the database (else see `Named.trouble`).
    """
    around = related_directories(cwd, os.environ)
    recordings = find_recordings(cwd, samples=sample_paths(), clients=settings.clients)
    here, stored, trouble = find_newest(recordings, around), None, ""
    try:
        stored = _newest_stored({recording.file for recording in recordings}, around, settings)
    except CtxtuiError as error:
        if here is None:
            raise
        trouble = str(error)
    if stored is not None and (here is None or (stored.when > here.mtime and not stored.is_empty)):
        return Newest(stored.id, stored.source, Named(stored=stored.id))
    if here is None:
        raise NotFound(f"no session of this directory ({cwd})", way_out="`ctxtui sessions` lists all")
    return Newest(here.id, here.source, Named(here.path, trouble=trouble))


def _newest_stored(files: Set[str], around: Iterable[Path], settings: Settings) -> StoredLocation | None:
    """The newest stored session that ran in `around` and is not of `files`. None if there is none."""
    places = tuple(around)
    stored = _query_store(settings, stored_locations)
    return next((place for place in stored if is_inside(place.cwd, places) and place.file not in files), None)


def _name_in_database(path: Path) -> Named:
    first, *others = [address_of(path, session.id) for session in list_roots(path)] or [path]
    return Named(first, others=tuple(others))


def _match_id(name: str, recordings: list[FoundRecording], stored: list[str]) -> Named:
    lower_name = name.lower()
    # Of a transcript that ctxtui recorded too, the recording is named.
    transcripts = set(match_transcripts(recordings).values())
    matches = [f for f in recordings if f.id.lower().startswith(lower_name) and f.file not in transcripts]
    exact = [f for f in matches if f.id.lower() == lower_name]
    if len(exact) == 1:
        return Named(exact[0].path)
    if name in stored and not exact:
        return Named(stored=name)
    ids = {f.id for f in matches} | set(stored)
    if len(ids) == 1 and len(matches) <= 1 and (exact or len(name) >= SHORTEST_PREFIX):
        return Named(matches[0].path) if matches else Named(stored=stored[0])
    if not ids or len(name) < SHORTEST_PREFIX:
        raise NotFound(f"no such file, session or command: {name}", way_out="`ctxtui sessions` lists what there is")
    raise _ambiguity_error(name, matches, stored)


def _ambiguity_error(name: str, matches: list[FoundRecording], stored: list[str]) -> Several:
    names = [str(f.path) for f in matches] + [i for i in stored if i not in {f.id for f in matches}]
    more = f" and {len(names) - _MAX_LISTED} more" if len(names) > _MAX_LISTED else ""
    listing = ", ".join(names[:_MAX_LISTED]) + more
    return Several(f"{name} fits {len(names)} sessions: {listing}", way_out="give more of the id, or the path")


def _query_store(settings: Settings, question: Callable[[Path], list[T]]) -> list[T]:
    """Ask ctxtui's database a question; empty if there is none."""
    path = database(settings.data_dir)
    if not path.exists():
        return []
    try:
        return question(path)
    except CtxtuiError:
        # The database may be of an older version: opening it migrates it, or raises the error.
        with Store.open(path):
            return question(path)


def open_named(named: Named, settings: Settings, progress: Callable[[int], None] | None = None) -> Loaded:
    """Read the located session to its end; after a `NoContext` the next of `named.others`.

    Raises the errors of `load`, `load_stream` and ctxtui's own database.
    """
    if named.stored:
        with Store.open(database(settings.data_dir)) as store:
            return Loaded(store.load(named.stored), named.stored)
    if named.path is None:
        return load_stream()
    return _first_with_context((named.path, *named.others), lambda path: load(path, progress))


def open_named_unread(named: Named, settings: Settings) -> tuple[Loaded, Iterable[RecordingNews]]:
    """Like `open_named`, but a file is only opened: the second value is its first reading.

    The first reading may raise `NoContext`; no further recording is tried then. Standard input is read to its end. A
    stored session follows its host.
    """
    if named.stored:
        # Imported here: most runs name a file.
        from ctxtui.services.recordings.stored_session import StoredSession

        return StoredSession(database(settings.data_dir), named.stored), ()
    if named.path is None:
        return open_named(named, settings), ()
    return _first_with_context((named.path, *named.others), open_recording)


def _first_with_context(paths: Iterable[Path], attempt: Callable[[Path], T]) -> T:
    """The result for the first of `paths` that does not raise `NoContext`. Raises the first one if all do."""
    first: CtxtuiError | None = None
    for path in paths:
        try:
            return attempt(path)
        except NoContext as error:
            first = first or error
    assert first is not None
    raise first
