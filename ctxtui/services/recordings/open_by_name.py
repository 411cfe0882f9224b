"""What the user named: a path, a folder, ``-``, or the id of a session; found and opened."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Set
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import unquote

from msgspec import Struct, field

from ctxtui.core.errors import CtxtuiError, NoContext, NotFound, Several
from ctxtui.services.config.package_data import sample_paths
from ctxtui.services.config.paths import database
from ctxtui.services.config.projects import related
from ctxtui.services.config.settings import Settings
from ctxtui.services.recordings.databases.address import MARK, address_of, is_database
from ctxtui.services.recordings.databases.sessions import found_in, roots
from ctxtui.services.recordings.discover import FoundRecording, find, is_inside, own_transcripts
from ctxtui.services.recordings.folder_scan import recordings_in
from ctxtui.services.recordings.open import load, load_stream, newest_here, opening
from ctxtui.services.recordings.recording import Loaded, RecordingNews
from ctxtui.store.sessions.stored_state import StoredLocation, stored_ids, stored_locations
from ctxtui.store.store import Store

T = TypeVar("T")

STREAM: Final = "-"
LAST: Final = "last"
"""Stands for the newest session of the current directory, as in ``ctxtui show last``."""
SHORTEST_PREFIX: Final = 4
"""Characters of an id that are enough to name it, where they fit only one."""

_LISTED: Final = 8


class Named(Struct, frozen=True):
    """What a name stands for: the main file in `path`, the store's id in `stored`, or standard input (neither).

    `others` are further recordings in the folder or database that was named, newest first.
    """

    path: Path | None = None
    stored: str = ""
    others: tuple[Path, ...] = field(default=())


class Newest(Struct, frozen=True):
    """The newest session of a directory: its id, its client's name, and what opens it."""

    id: str
    source: str
    named: Named

    @property
    def name(self) -> str:
        """What `locate` takes for it."""
        return self.named.stored or str(self.named.path)


def locate(name: str, cwd: Path, settings: Settings) -> Named:
    """What `name` stands for: ``-``, a file, a folder, a session in a database (``DATABASE#ID``, also the beginning of
    the id or its title), ``last`` (the newest session of the directory `cwd`), or an id (whole, or its first
    characters).

    Raises `NotFound`, `Several`, `NoContext`, `Unreadable`, and what is wrong with ctxtui's own database.
    """
    if name == STREAM:
        return Named()
    path = Path(name).expanduser()
    if os.path.isdir(path):
        first, *others = recordings_in(path, settings.clients)
        return Named(first, others=tuple(others))
    if os.path.lexists(path):
        return _in_database(path)
    database, mark, wanted = str(path).rpartition(MARK)
    if mark and is_database(Path(database)):
        return Named(address_of(Path(database), found_in(Path(database), unquote(wanted)).id))
    if os.sep in name:
        return Named(path)
    if name == LAST:
        return last_here(cwd, settings).named
    found = find(cwd, samples=sample_paths(), clients=settings.clients)
    return _by_id(name, found, _asked(settings, lambda path: stored_ids(path, name)))


def last_here(cwd: Path, settings: Settings) -> Newest:
    """The newest session that ran in the directory `cwd`, or in the repository around it: a recording, or one that only
    the database holds, as a chat. Raises `NotFound`; where no recording is there, what is wrong with the database."""
    around = related(cwd, os.environ)
    found = find(cwd, samples=sample_paths(), clients=settings.clients)
    here = newest_here(found, around)
    try:
        kept = _newest_stored({one.file for one in found}, around, settings)
    except CtxtuiError:
        if here is None:
            raise
        kept = None  # whoever opens the recording asks the database again, and says what is wrong with it
    if kept is not None and (here is None or (kept.when > here.mtime and not kept.is_empty)):
        return Newest(kept.id, kept.source, Named(stored=kept.id))
    if here is None:
        raise NotFound(f"no session of this directory ({cwd})", way_out="`ctxtui sessions` lists all")
    return Newest(here.id, here.source, Named(here.path))


def _newest_stored(files: Set[str], around: Iterable[Path], settings: Settings) -> StoredLocation | None:
    """The newest session in the database that ran in one of the directories `around`, and is none of `files`."""
    places = tuple(around)
    there = _asked(settings, stored_locations)
    return next((one for one in there if is_inside(one.cwd, places) and one.file not in files), None)


def _in_database(path: Path) -> Named:
    """The file `path`; of a database the sessions that it holds, the newest first."""
    first, *others = [address_of(path, one.id) for one in roots(path)] or [path]
    return Named(first, others=tuple(others))


def _by_id(name: str, there: list[FoundRecording], kept: list[str]) -> Named:
    wanted = name.lower()
    theirs = set(own_transcripts(there).values())
    found = [f for f in there if f.id.lower().startswith(wanted) and f.file not in theirs]
    exact = [f for f in found if f.id.lower() == wanted]
    if len(exact) == 1:
        return Named(exact[0].path)
    if name in kept and not exact:
        return Named(stored=name)
    ids = {f.id for f in found} | set(kept)
    if len(ids) == 1 and len(found) <= 1 and (exact or len(name) >= SHORTEST_PREFIX):
        return Named(found[0].path) if found else Named(stored=kept[0])
    if not ids or len(name) < SHORTEST_PREFIX:
        raise NotFound(f"no such file, session or command: {name}", way_out="`ctxtui sessions` lists what there is")
    raise _several(name, found, kept)


def _several(name: str, found: list[FoundRecording], kept: list[str]) -> Several:
    names = [str(f.path) for f in found] + [i for i in kept if i not in {f.id for f in found}]
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    listed = ", ".join(names[:_LISTED]) + more
    return Several(f"{name} fits {len(names)} sessions: {listed}", way_out="give more of the id, or the path")


def _asked(settings: Settings, question: Callable[[Path], list[T]]) -> list[T]:
    """What the database answers; nothing where there is none."""
    path = database(settings.data_dir)
    if not path.exists():
        return []
    try:
        return question(path)
    except CtxtuiError:
        # Of an older version, which is brought up to date; else what is wrong with it is told.
        from ctxtui.store.store import Store

        with Store.open(path):
            return question(path)


def open_named(named: Named, settings: Settings, progress: Callable[[int], None] | None = None) -> Loaded:
    """What `named` stands for, read to its end; in a folder the newest recording that holds a context.

    Raises what `load` raises.
    """
    if named.stored:
        with Store.open(database(settings.data_dir)) as store:
            return Loaded(store.load(named.stored), named.stored)

    if named.path is None:
        return load_stream()
    return _first((named.path, *named.others), lambda path: load(path, progress))


def opening_named(named: Named, settings: Settings) -> tuple[Loaded, Iterable[RecordingNews]]:
    """As `open_named`, with a file's first reading still to be taken, slice by slice (see `opening`), and a stored
    session to be followed."""
    if named.stored:
        # Imported here: most runs name a file.
        from ctxtui.services.recordings.stored_session import StoredSession

        return StoredSession(database(settings.data_dir), named.stored), ()
    if named.path is None:
        return open_named(named, settings), ()

    return _first((named.path, *named.others), opening)


def _first(paths: Iterable[Path], attempt: Callable[[Path], T]) -> T:
    """The first of `paths` that holds a context. Raises what the first of them raised where none does."""
    first: CtxtuiError | None = None
    for path in paths:
        try:
            return attempt(path)
        except NoContext as error:
            first = first or error
    assert first is not None
    raise first
