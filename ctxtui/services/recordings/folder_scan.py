"""Finds recordings in a folder that the user named, by their content."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from stat import S_ISDIR
from typing import Final

from ctxtui.core.errors import NotFound, Unreadable
from ctxtui.live_database import in_use
from ctxtui.services.config.format_registry import detect
from ctxtui.services.recordings.body_folder import INDEX, holds_bodies, is_body, is_body_folder, list_body_recordings
from ctxtui.services.recordings.companion_files import companion_folders
from ctxtui.services.recordings.databases.address import address_of, is_database
from ctxtui.services.recordings.databases.sessions import list_roots
from ctxtui.services.recordings.discover import HERE, find_recordings, read_directories
from ctxtui.services.recordings.file_tail import is_file, list_entries, read_error
from ctxtui.services.recordings.multi_file import WHOLE, is_job, is_multi_file, read_multi_file
from ctxtui.transcripts.kit.file_head import HEAD_BYTES
from ctxtui.transcripts.registry import Format

_MAX_FILES: Final = 400
"""Recordings to open at most: those with a likely name first, then the newest."""
_MAX_DEPTH: Final = 6
"""Levels of folders below the named one."""
_SKIPPED_FOLDERS: Final = frozenset({"node_modules", "__pycache__", "subagents"})


def find_in_folder(folder: Path, clients: Mapping[str, bool] | None = None) -> list[Path]:
    """Find the recordings in `folder` or below, newest first.

    It skips hidden entries, `_SKIPPED_FOLDERS` and subagents' files; `_MAX_DEPTH` and `_MAX_FILES` limit it.

    - `folder` may be a database: then its main sessions are returned, or the file itself if it has none.
    - If the folder holds no recording, the sessions that ran in or below it are returned, of clients that the setting
      `clients` does not disable.

    Raises `NotFound` if nothing is found, `Unreadable` if the folder or the database cannot be read.
    """
    if is_database(folder):
        return [address_of(folder, session.id) for session in list_roots(folder)] or [folder]
    _check_listable(folder)
    recordings = _without_companions([session for path in _files_to_open(folder) for session in _recordings_at(path)])
    if not recordings and is_body_folder(folder):
        # Their transcripts are in the folder's parent.
        recordings = list_body_recordings(folder, near=False)
    if not recordings:
        place = folder.resolve()
        recordings = [
            session.path
            for session in read_directories(find_recordings(place, clients=clients), [place])
            if session.group == HERE
        ]
    if not recordings:
        raise NotFound(f"no recorded session in {folder}", way_out="name a file, or see `ctxtui sessions`")
    return recordings


def expand_names(names: Iterable[str], clients: Mapping[str, bool] | None = None) -> list[str]:
    """Replace each folder or database in `names` by its recordings, sorted by path.

    Other names stay. Takes and raises what `find_in_folder` does.
    """
    expanded: list[str] = []
    for name in names:
        path = Path(os.path.expanduser(name))
        expanded += (
            sorted(map(str, find_in_folder(path, clients))) if os.path.isdir(path) or is_database(path) else [name]
        )
    return expanded


def _check_listable(folder: Path) -> None:
    try:
        os.scandir(folder).close()
    except OSError as error:
        raise read_error(folder, error) from error


def _files_to_open(folder: Path) -> list[Path]:
    dated = []
    for path in _walk_files(str(folder), _MAX_DEPTH):
        try:
            status = os.stat(path)
        except OSError:
            continue
        if status.st_size or S_ISDIR(status.st_mode):
            likely = path.endswith((".jsonl", ".json", ".ndjson", ".db")) or S_ISDIR(status.st_mode)
            dated.append((likely, status.st_mtime, path))
    dated.sort(key=lambda item: (not item[0], -item[1], item[2]))
    best = dated[:_MAX_FILES]
    best.sort(key=lambda item: (-item[1], item[2]))
    return [Path(path) for _, _, path in best]


def _walk_files(folder: str, depth: int) -> Iterator[str]:
    """Yield files in `folder` and below; of a recording or bodies in a folder, the folder."""
    entries = list_entries(folder)
    bodies = holds_bodies([entry.name for entry in entries])
    if bodies:
        yield folder
        entries = [entry for entry in entries if entry.name != INDEX and not is_body(entry.name)]
    names = [entry.name for entry in entries if is_file(entry)]
    if is_job(names) and WHOLE in names:
        # `WHOLE` contains everything that the other files do.
        yield os.path.join(folder, WHOLE)
        return
    if not bodies and is_multi_file(os.path.basename(os.path.abspath(folder)), names):
        yield folder
        return
    for entry in entries:
        if entry.name.startswith(".") or entry.name in _SKIPPED_FOLDERS:
            continue
        if entry.is_dir(follow_symlinks=False):
            if depth:
                yield from _walk_files(entry.path, depth - 1)
        elif is_file(entry) and not entry.name.startswith("agent-"):
            yield entry.path


def _recordings_at(path: Path) -> list[tuple[Path, Format | None]]:
    """The recordings in `path` with their formats.

    The format is None for sessions of a database or of a folder of bodies.
    """
    try:
        if is_database(path):
            return [(address_of(path, session.id), None) for session in list_roots(path)]
        if is_body_folder(path):
            return [(session, None) for session in list_body_recordings(path)]
    except Unreadable:
        return []
    form = _detect_format(path)
    return [(path, form)] if form is not None else []


def _detect_format(path: Path) -> Format | None:
    try:
        pieces = read_multi_file(path) if path.is_dir() else None
        if pieces is not None:
            return detect(b"".join(islice(pieces, 2))[:HEAD_BYTES], path.name)
        if in_use(path):
            return None
        with path.open("rb") as file:
            return detect(file.read(HEAD_BYTES), path.name)
    except (OSError, Unreadable):
        return None


def _without_companions(recordings: list[tuple[Path, Format | None]]) -> list[Path]:
    """Leave out files that are read with another one, which would count twice."""
    beside: set[Path] = set()
    for path, form in sorted(recordings, key=lambda entry: entry[1].name if entry[1] else ""):
        if form is not None and form.companions and path not in beside and path.is_file():
            beside.update(item for item in companion_folders(path, form).list_files() if item != path)
    return [path for path, _ in recordings if path not in beside]
