"""Finds recorded sessions by file names and times.

It opens only databases and the small files in which clients list their projects; `read_directories` also opens
recordings, and reads their first bytes.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import translate
from functools import cache, lru_cache
from operator import itemgetter
from pathlib import Path
from stat import S_ISREG
from typing import Final, NamedTuple

from ctxtui.core.errors import Unreadable
from ctxtui.live_database import LOG
from ctxtui.services.config.clients import CLIENTS, KnownClient, RecordingPlace, enabled_clients, find_client
from ctxtui.services.config.projects import related_directories
from ctxtui.services.recordings.databases.address import address_of, split_address
from ctxtui.services.recordings.file_tail import list_entries

HERE: Final = "here"
ELSEWHERE: Final = "elsewhere"
SAMPLES: Final = "samples"
ATTACHED: Final = "attached"
"""The source of recordings that ctxtui made of other programs."""

_MAX_DEPTH: Final = 4
"""Folder levels that ``**`` matches; Codex has three: year, month, day."""
_MAX_NAME: Final = 4096
"""Maximum characters of a directory's name."""
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_USUAL_SUFFIX: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\.jsonl")
"""The suffix of most names, tried first because it is fast."""


class FoundRecording(NamedTuple):
    """A recording, described by its file's name and status, or by its database.

    - `file`: its path (``DATABASE#ID`` in a database).
    - `id`: `id_of` its file's name (or its folder's, if all files have one name), or its id in the database.
    - `group`: ``here`` (this directory, its repository, its worktrees), ``elsewhere`` or ``samples``.
    - `mtime`: Unix seconds; `size`: bytes (in a database: the number of messages or turns).
    """

    file: str
    source: str
    id: str
    size: int
    mtime: float
    group: str = ELSEWHERE
    cwd: str = ""
    """The directory the session ran in; "" if neither its place nor a database tells."""
    folder: str = ""
    """The name of its project's folder, for clients with a folder per project."""
    title: str = ""
    version: str = ""
    """Title and version are from databases."""

    @property
    def path(self) -> Path:
        return Path(self.file)

    def is_live(self, now: float, seconds: float) -> bool:
        """Whether the session was written to within the last `seconds`; a sample is never live."""
        return self.group != SAMPLES and now - self.mtime <= seconds


_FILE, _MTIME = map(FoundRecording._fields.index, ("file", "mtime"))


def find_recordings(
    cwd: Path,
    env: Mapping[str, str] | None = None,
    samples: tuple[Path, ...] = (),
    clients: Mapping[str, bool] | None = None,
) -> list[FoundRecording]:
    """Find the recordings at the places of clients, and `samples`, newest first.

    `clients`: the setting that disables some. Unreadable folders are skipped.
    """
    env = os.environ if env is None else env
    around, active_clients = related_directories(cwd, env), enabled_clients(clients or {})
    recordings = [recording for client in active_clients for recording in _find_of_client(client, env, around)]
    if any(client.beside for client in active_clients):
        folders = (*around, *cwd.parents, *known_projects(env, (recording.cwd for recording in recordings)))
        recordings += [
            recording
            for client in active_clients
            for recording in _find_beside(client, env, dict.fromkeys(folders), around)
        ]
    recordings += filter(None, (recording_at(path, SAMPLES) for path in samples))
    recordings.sort(key=itemgetter(_FILE))
    recordings.sort(key=itemgetter(_MTIME), reverse=True)
    return recordings


def _find_of_client(client: KnownClient, env: Mapping[str, str], around: tuple[Path, ...]) -> Iterator[FoundRecording]:
    listed_ids: set[str] = set()
    for place in dict.fromkeys(client.places(env)):
        recordings = (_find_databases if place.database else _find_files)(client, place, around)
        if not client.copies:
            yield from recordings
            continue
        # Two with the same id in one place are not copies of each other: both are listed.
        new = [recording for recording in recordings if recording.id not in listed_ids]
        listed_ids.update(recording.id for recording in new)
        yield from new


def _find_files(client: KnownClient, place: RecordingPlace, around: tuple[Path, ...]) -> Iterator[FoundRecording]:
    source, segments = client.source, place.pattern.split("/")
    # A file with a fixed name gets the id of the folder at the last wildcard.
    levels_up = next((n for n, segment in enumerate(reversed(segments)) if "*" in segment), 1)
    for entries, folder in _match_entries(str(place.root), segments, place.excluded):
        if not client.by_project:
            folder = _NO_FOLDER
        cwd = _directory_of(client, *folder, around)
        group = HERE if cwd and is_inside(cwd, around) else ELSEWHERE
        for entry in entries:
            try:
                status = entry.stat()
            except OSError:
                continue
            if S_ISREG(status.st_mode):
                file = entry.path
                id_ = id_of(file.rsplit("/", levels_up + 1)[1] if levels_up else entry.name)
                yield FoundRecording(file, source, id_, status.st_size, status.st_mtime, group, cwd, folder[0])


def _directory_of(client: KnownClient, folder: str, path: str, around: tuple[Path, ...]) -> str:
    """The directory that a project's `folder` (at `path`) is for.

    From `directory_file`, or by its name. "" if it is unknown: names are compared with `around` only.
    """
    if not folder:
        return ""
    if client.directory_file:
        try:
            with open(os.path.join(path, client.directory_file), encoding="utf-8", errors="replace") as file:
                return file.readline(_MAX_NAME).strip()
        except OSError:
            pass  # older versions have no such file
    matches = (place for place in around if client.named_for(folder, place) or client.worktree_of(folder, place))
    return str(next(matches, ""))


def is_inside(cwd: str, around: Iterable[Path]) -> bool:
    return any(cwd == place or cwd.startswith(place.rstrip("/") + "/") for place in map(str, around))


_NO_FOLDER: Final = ("", "")


def _match_entries(
    root: str, segments: list[str], but: tuple[str, ...], folder: tuple[str, str] = _NO_FOLDER, depth: int = _MAX_DEPTH
) -> Iterator[tuple[list[os.DirEntry[str]], tuple[str, str]]]:
    """Yield lists of entries below `root` that match `segments`.

    Each comes with the name and path of the folder at the first wildcard ("" without one).
    """
    segment, *later_segments = segments
    if segment == "**":
        entries, fits = list_entries(root), _compile_patterns(later_segments[0])
        yield _exclude([entry for entry in entries if fits(entry.name)], but), folder
        for entry in entries if depth else ():
            if not fits(entry.name) and _is_dir(entry):
                yield from _match_entries(entry.path, segments, but, folder, depth - 1)
    elif "*" not in segment and later_segments:
        yield from _match_entries(os.path.join(root, segment), later_segments, but, folder)
    else:
        fits = _compile_patterns(segment)
        matching = [entry for entry in list_entries(root) if fits(entry.name)]
        if later_segments:
            for entry in matching:
                if _is_dir(entry):
                    yield from _match_entries(
                        entry.path, later_segments, but, folder if folder[0] else (entry.name, entry.path)
                    )
        else:
            yield _exclude(matching, but), folder


def _exclude(entries: list[os.DirEntry[str]], but: tuple[str, ...]) -> list[os.DirEntry[str]]:
    return [entry for entry in entries if not _compile_patterns(*but)(entry.name)] if but else entries


@cache
def _compile_patterns(*segments: str) -> Callable[[str], object]:
    return re.compile("|".join(map(translate, segments))).match


def _find_databases(client: KnownClient, place: RecordingPlace, around: tuple[Path, ...]) -> Iterator[FoundRecording]:
    for entries, _ in _match_entries(str(place.root), place.pattern.split("/"), place.excluded):
        for entry in entries:
            yield from list_database(entry.path, client.source, around)


def list_database(database: str, source: str, around: Iterable[Path] = ()) -> Iterator[FoundRecording]:
    """Yield the sessions in the file `database`, newest first.

    If SQLite cannot read it, the file itself is yielded, so that opening it reports the error.
    """
    try:
        rows = _list_database(database, *_database_stamps(database))
    except OSError:
        return
    except Unreadable:
        status = os.stat(database)
        yield FoundRecording(database, source, id_of(os.path.basename(database)), status.st_size, status.st_mtime)
        return
    for row in rows:
        group = HERE if row.cwd and is_inside(row.cwd, around) else ELSEWHERE
        yield row._replace(source=source or row.source, group=group)


def _database_stamps(database: str) -> tuple[float, ...]:
    status = os.stat(database)
    try:
        log = os.stat(database + LOG)
    except OSError:
        return status.st_mtime, status.st_size
    return status.st_mtime, status.st_size, log.st_mtime, log.st_size


@lru_cache(16)
def _list_database(database: str, *stamps: float) -> tuple[FoundRecording, ...]:
    # Imported here: SQLite is needed only for clients with a database.
    from ctxtui.services.recordings.databases.sessions import list_roots

    path = Path(database)
    return tuple(
        FoundRecording(
            str(address_of(path, session.id)), session.source, session.id, session.messages, session.updated
        )._replace(cwd=session.cwd, title=session.title, version=session.version)
        for session in list_roots(path)
    )


def _find_beside(
    client: KnownClient, env: Mapping[str, str], folders: Iterable[Path], around: tuple[Path, ...]
) -> Iterator[FoundRecording]:
    if client.beside is None:
        return
    visited: set[str] = set()
    for folder in folders:
        for path in client.beside(env, folder):
            file = str(path)
            if file in visited:
                continue
            visited.add(file)
            try:
                status = os.stat(file)
            except (OSError, ValueError):
                continue
            if S_ISREG(status.st_mode) and status.st_size:
                group, id_ = HERE if folder in around else ELSEWHERE, id_of(f"{folder.name}{path.name}")
                sizes = status.st_size, status.st_mtime
                yield FoundRecording(file, client.source, id_, *sizes, group, str(folder))


def watched_paths(
    recordings: Iterable[FoundRecording], env: Mapping[str, str], clients: Mapping[str, bool]
) -> set[str]:
    """The folders and databases to watch for new or deleted recordings, except samples."""
    paths = {os.path.dirname(recording.file) for recording in recordings if recording.group != SAMPLES}
    for folder in list(paths):
        for _ in range(_MAX_DEPTH - 1):
            folder = os.path.dirname(folder)
            paths.add(folder)
    for client in enabled_clients(clients):
        for place in client.places(env):
            root = str(place.folder)
            paths.add(root)
            if place.database:
                files = [entry.path for entries, _ in _match_entries(root, [place.pattern], ()) for entry in entries]
                paths.update(file + end for file in files for end in ("", LOG))
    return paths


def recording_at(path: Path, group: str = ELSEWHERE) -> FoundRecording | None:
    """The recording in a file, or at an address in a database; None if there is none."""
    file, session = split_address(path)
    if session and not file.is_dir():
        rows = list_database(str(file), "")
        return next((row._replace(group=group) for row in rows if row.id == session), None)
    try:
        status = file.stat()
    except OSError:
        return None
    return FoundRecording(str(path), "", session or id_of(path.name), status.st_size, status.st_mtime, group)


def id_of(name: str) -> str:
    """The id in the name of a recording's file.

    Its last uuid, else the name without known suffixes.
    """
    usual = name[-42:]
    if _USUAL_SUFFIX.fullmatch(usual):
        return usual[:36]
    uuids = _UUID.findall(name)
    if uuids:
        return str(uuids[-1]).lower()
    for ending in (".jsonl", ".json", ".ctxtui", ".traj", ".messages", ".md"):
        name = name.removesuffix(ending)
    return name


def match_transcripts(recordings: Iterable[FoundRecording]) -> dict[str, str]:
    """Map files of ctxtui's recordings to the client's transcript with the same id.

    Only where there is exactly one.
    """
    attached: dict[str, str] = {}
    transcripts: dict[str, list[str]] = {}
    for recording in recordings:
        if recording.source == ATTACHED:
            attached[recording.id] = recording.file
        else:
            transcripts.setdefault(recording.id, []).append(recording.file)
    return {file: transcripts[id_][0] for id_, file in attached.items() if len(transcripts.get(id_, ())) == 1}


def _is_dir(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


_MAX_PROJECTS_BYTES: Final = 16_000_000


def known_projects(env: Mapping[str, str], ran: Iterable[str]) -> tuple[Path, ...]:
    """The directories in which sessions `ran`, and those that clients list as projects."""
    named = dict.fromkeys(name for name in ran if name)
    for client in CLIENTS:
        if client.projects is not None:
            named |= dict.fromkeys(_read_projects(client.projects(env)))
    return tuple(Path(name) for name in named if os.path.isabs(name))


def _read_projects(file: Path) -> tuple[str, ...]:
    try:
        status = os.stat(file)
    except OSError:
        return ()
    return (
        _read_project_keys(str(file), status.st_size, status.st_mtime_ns)
        if status.st_size <= _MAX_PROJECTS_BYTES
        else ()
    )


@lru_cache(16)
def _read_project_keys(file: str, size: int, mtime_ns: int) -> tuple[str, ...]:
    try:
        with open(file, "rb") as opened:
            data = opened.read()
        return tuple(_project_keys(data, file))
    except (OSError, ValueError, RecursionError):
        return ()


def _project_keys(data: bytes, file: str) -> Iterator[str]:
    if file.endswith(".toml"):
        import tomllib

        table: object = tomllib.loads(data.decode("utf-8"))
    else:
        table = json.loads(data)
    projects = table.get("projects") if isinstance(table, dict) else None
    yield from (str(key) for key in projects) if isinstance(projects, dict) else ()


_HEAD_SIZES: Final = (1 << 13, 1 << 16)
"""Bytes to read; the second only if the first contain no directory."""
_CWD: Final = rb'"(?:cwd|directory|workspaceDirectory)"\s*:\s*("(?:[^"\\]|\\.)*")'


def _read_head(path: Path) -> bytes:
    head = b""
    try:
        with path.open("rb", buffering=0) as file:
            for room in _HEAD_SIZES:
                more = file.read(room - len(head))
                head += more
                if not more or re.search(_CWD, head):
                    break
    except OSError:
        return head
    return head


def _cwd_in(head: bytes) -> str:
    match = re.search(_CWD, head)
    try:
        return str(json.loads(match[1])).removeprefix("file://") if match else ""
    except ValueError:
        return ""


def read_directories(recordings: Iterable[FoundRecording], around: Iterable[Path]) -> Iterator[FoundRecording]:
    """Yield recordings in the same order, with missing directories filled in.

    They are read from the heads of the files. Those whose head names a parent session are left out. Those that ran in
    or below one of `around` get the group ``here``. Files are read one by one: take no more than needed.
    """
    places = tuple(around)
    for recording in recordings:
        if recording.cwd or recording.folder or recording.group == SAMPLES or not recording.source:
            yield recording
            continue
        client = find_client(recording.source)
        head = _read_head(client.named_in(recording.path) if client else recording.path)
        if client and client.parent_member and re.search(rb'"%s"\s*:\s*"' % client.parent_member.encode(), head):
            continue
        cwd = _cwd_in(head)
        yield (
            recording._replace(cwd=cwd, group=HERE if is_inside(cwd, places) else recording.group) if cwd else recording
        )
