"""Finding recorded sessions by names and file times alone: no file is opened, thousands take milliseconds.

Of a database its list of sessions is read. Where a session ran is asked later where only its file tells.
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
from ctxtui.services.config.clients import CLIENTS, KnownClient, RecordingPlace, enabled_clients, find_client
from ctxtui.services.config.projects import related_directories
from ctxtui.services.recordings.databases.address import address_of, parted
from ctxtui.services.recordings.file_tail import entries_of

HERE: Final = "here"
ELSEWHERE: Final = "elsewhere"
SAMPLES: Final = "samples"
ATTACHED: Final = "attached"
"""The source of what ctxtui recorded of other programs."""

_DEPTH: Final = 4
"""Folders that ``**`` stands for: Codex has one for year, month and day."""
_LONGEST: Final = 4096
"""Characters of a directory's name at most."""
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_USUAL: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\.jsonl")
"""How most names end: told apart first, because it takes a third of the time."""


class FoundRecording(NamedTuple):
    """A recording as its name and file status tell it, or as its database does.

    `file` is its path (``DATABASE#ID`` in a database). `id` is what `ctxtui show` accepts: the session's uuid where the
    name holds one, else the file's stem. `group` is ``here`` (this directory,
    its repository, its worktrees), ``elsewhere`` or ``samples``. `mtime` in Unix seconds, `size` in bytes (of a session
    in a database: its messages).
    """

    file: str
    source: str
    id: str
    size: int
    mtime: float
    group: str = ELSEWHERE
    cwd: str = ""
    """Where the session ran; "" where only the file's content says it."""
    folder: str = ""
    """The name of its project's folder, where the client has one for each project."""
    title: str = ""
    version: str = ""
    """Title and client's version, where a database tells them."""

    @property
    def path(self) -> Path:
        """What `load` opens."""
        return Path(self.file)

    def live(self, now: float, seconds: float) -> bool:
        """Whether the session was written to within the last `seconds`. One that waits for its user is not: whether its
        client runs is for `owners` to say."""
        return self.group != SAMPLES and now - self.mtime <= seconds


_FILE, _MTIME = map(FoundRecording._fields.index, ("file", "mtime"))


def find(
    cwd: Path,
    env: Mapping[str, str] | None = None,
    samples: tuple[Path, ...] = (),
    clients: Mapping[str, bool] | None = None,
) -> list[FoundRecording]:
    """Every recording of the clients we know, and `samples`, newest first. `clients` switches some off (the setting).

    A folder that is absent or may not be read is passed over; so is a file that vanishes meanwhile.
    """
    env = os.environ if env is None else env
    around, wanted = related_directories(cwd, env), enabled_clients(clients or {})
    found = [one for client in wanted for one in _places(client, env, around)]
    if any(client.beside for client in wanted):
        folders = (*around, *cwd.parents, *known_projects(env, (one.cwd for one in found)))
        found += [one for client in wanted for one in _beside(client, env, dict.fromkeys(folders), around)]
    found += filter(None, (seen_at(path, SAMPLES) for path in samples))
    found.sort(key=itemgetter(_FILE))
    found.sort(key=itemgetter(_MTIME), reverse=True)
    return found


def _places(client: KnownClient, env: Mapping[str, str], around: tuple[Path, ...]) -> Iterator[FoundRecording]:
    """The recordings at the places of `client`, each once."""
    before: set[str] = set()
    for place in dict.fromkeys(client.places(env)):
        there = (_databases if place.database else _files)(client, place, around)
        if not client.copies:
            yield from there
            continue
        # Two with the same id in one place are no copies of each other: both are listed.
        new = [one for one in there if one.id not in before]
        before.update(one.id for one in new)
        yield from new


def _files(client: KnownClient, place: RecordingPlace, around: tuple[Path, ...]) -> Iterator[FoundRecording]:
    source, segments = client.source, place.pattern.split("/")
    # A file of a fixed name is called by the folder at the last wildcard.
    above = next((n for n, segment in enumerate(reversed(segments)) if "*" in segment), 1)
    for entries, folder in _matches(str(place.root), segments, place.but):
        if not client.by_project:
            folder = _NONE
        cwd = _ran_at(client, *folder, around)
        group = HERE if cwd and is_inside(cwd, around) else ELSEWHERE
        for entry in entries:
            try:
                status = entry.stat()
            except OSError:
                continue
            if S_ISREG(status.st_mode):
                file = entry.path
                id_ = id_of(file.rsplit("/", above + 1)[1] if above else entry.name)
                yield FoundRecording(file, source, id_, status.st_size, status.st_mtime, group, cwd, folder[0])


def _ran_at(client: KnownClient, folder: str, path: str, around: tuple[Path, ...]) -> str:
    """The directory that the project's `folder` at `path` stands for; "" where that is none of `around`, or is not
    told."""
    if not folder:
        return ""
    if client.told_in:
        try:
            with open(os.path.join(path, client.told_in), encoding="utf-8", errors="replace") as file:
                return file.readline(_LONGEST).strip()
        except OSError:
            pass  # an older version has no such file
    fits = (place for place in around if client.named_for(folder, place) or client.worktree_of(folder, place))
    return str(next(fits, ""))


def is_inside(cwd: str, around: Iterable[Path]) -> bool:
    """Whether `cwd` is one of the directories `around` or below one."""
    return any(cwd == place or cwd.startswith(place.rstrip("/") + "/") for place in map(str, around))


_NONE: Final = ("", "")


def _matches(
    root: str, segments: list[str], but: tuple[str, ...], folder: tuple[str, str] = _NONE, depth: int = _DEPTH
) -> Iterator[tuple[list[os.DirEntry[str]], tuple[str, str]]]:
    """The entries below `root` at `segments`, folder by folder, with name and path of the one at the first wildcard."""
    head, *rest = segments
    if head == "**":
        entries, fits = entries_of(root), _pattern(rest[0])
        yield _without([entry for entry in entries if fits(entry.name)], but), folder
        for entry in entries if depth else ():
            if not fits(entry.name) and _is_dir(entry):
                yield from _matches(entry.path, segments, but, folder, depth - 1)
    elif "*" not in head and rest:
        yield from _matches(os.path.join(root, head), rest, but, folder)
    else:
        fits = _pattern(head)
        found = [entry for entry in entries_of(root) if fits(entry.name)]
        if rest:
            for entry in found:
                if _is_dir(entry):
                    yield from _matches(entry.path, rest, but, folder if folder[0] else (entry.name, entry.path))
        else:
            yield _without(found, but), folder


def _without(entries: list[os.DirEntry[str]], but: tuple[str, ...]) -> list[os.DirEntry[str]]:
    return [one for one in entries if not _pattern(*but)(one.name)] if but else entries


@cache
def _pattern(*segments: str) -> Callable[[str], object]:
    return re.compile("|".join(map(translate, segments))).match


def _databases(client: KnownClient, place: RecordingPlace, around: tuple[Path, ...]) -> Iterator[FoundRecording]:
    for entries, _ in _matches(str(place.root), place.pattern.split("/"), place.but):
        for entry in entries:
            yield from in_database(entry.path, client.source, around)


def in_database(database: str, source: str, around: Iterable[Path] = ()) -> Iterator[FoundRecording]:
    """The sessions in the file `database`, newest first; where SQLite cannot read it the file itself, so that whoever
    opens it is told why."""
    try:
        listed = _listed(database, *_stamps(database))
    except OSError:
        return
    except Unreadable:
        status = os.stat(database)
        yield FoundRecording(database, source, id_of(os.path.basename(database)), status.st_size, status.st_mtime)
        return
    for one in listed:
        here = HERE if one.cwd and is_inside(one.cwd, around) else ELSEWHERE
        yield one._replace(source=source or one.source, group=here)


def _stamps(database: str) -> tuple[float, ...]:
    """What changes with a database or its write-ahead log. Raises `OSError` where there is no database."""
    status = os.stat(database)
    try:
        log = os.stat(database + "-wal")
    except OSError:
        return status.st_mtime, status.st_size
    return status.st_mtime, status.st_size, log.st_mtime, log.st_size


@lru_cache(16)
def _listed(database: str, *stamps: float) -> tuple[FoundRecording, ...]:
    # Imported here: SQLite is not needed where no client has a database.
    from ctxtui.services.recordings.databases.sessions import roots

    path = Path(database)
    return tuple(
        FoundRecording(str(address_of(path, one.id)), one.source, one.id, one.messages, one.updated)._replace(
            cwd=one.cwd, title=one.title, version=one.version
        )
        for one in roots(path)
    )


def _beside(
    client: KnownClient, env: Mapping[str, str], folders: Iterable[Path], around: tuple[Path, ...]
) -> Iterator[FoundRecording]:
    if client.beside is None:
        return
    seen: set[str] = set()
    for folder in folders:
        for path in client.beside(env, folder):
            file = str(path)
            if file in seen:
                continue
            seen.add(file)
            try:
                status = os.stat(file)
            except (OSError, ValueError):
                continue
            if S_ISREG(status.st_mode) and status.st_size:
                group, id_ = HERE if folder in around else ELSEWHERE, id_of(f"{folder.name}{path.name}")
                sizes = status.st_size, status.st_mtime
                yield FoundRecording(file, client.source, id_, *sizes, group, str(folder))


def watched(found: Iterable[FoundRecording], env: Mapping[str, str], clients: Mapping[str, bool]) -> set[str]:
    """The folders and databases that change when a recording comes or goes; samples do neither."""
    around = {os.path.dirname(one.file) for one in found if one.group != SAMPLES}
    for folder in list(around):
        for _ in range(_DEPTH - 1):
            folder = os.path.dirname(folder)
            around.add(folder)
    for client in enabled_clients(clients):
        for place in client.places(env):
            root = str(place.folder)
            around.add(root)
            if place.database:
                files = [entry.path for entries, _ in _matches(root, [place.pattern], ()) for entry in entries]
                around.update(file + end for file in files for end in ("", "-wal"))
    return around


def seen_at(path: Path, group: str = ELSEWHERE) -> FoundRecording | None:
    """The recording at `path`; None where there is no file."""
    file, session = parted(path)
    if session and not file.is_dir():
        there = in_database(str(file), "")
        return next((one._replace(group=group) for one in there if one.id == session), None)
    try:
        status = file.stat()
    except OSError:
        return None
    return FoundRecording(str(path), "", session or id_of(path.name), status.st_size, status.st_mtime, group)


def id_of(name: str) -> str:
    """The id in a recording's file name: its last uuid, else the name without endings."""
    usual = name[-42:]
    if _USUAL.fullmatch(usual):
        return usual[:36]
    uuids = _UUID.findall(name)
    if uuids:
        return str(uuids[-1]).lower()
    for ending in (".jsonl", ".json", ".ctxtui", ".traj", ".md"):
        name = name.removesuffix(ending)
    return name


def own_transcripts(found: Iterable[FoundRecording]) -> dict[str, str]:
    """Attached recording -> the one transcript of a client that has the same id, by their files."""
    attached: dict[str, str] = {}
    others: dict[str, list[str]] = {}
    for one in found:
        if one.source == ATTACHED:
            attached[one.id] = one.file
        else:
            others.setdefault(one.id, []).append(one.file)
    return {file: others[id_][0] for id_, file in attached.items() if len(others.get(id_, ())) == 1}


def _is_dir(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


_LARGEST: Final = 16_000_000
"""Bytes of a client's file of projects that is still read."""


def known_projects(env: Mapping[str, str], ran: Iterable[str]) -> tuple[Path, ...]:
    """The directories in the clients' own files of projects, and those that sessions `ran` in ("" is none)."""
    named = dict.fromkeys(name for name in ran if name)
    for client in CLIENTS:
        if client.projects is not None:
            named |= dict.fromkeys(_projects(client.projects(env)))
    return tuple(Path(name) for name in named if os.path.isabs(name))


def _projects(file: Path) -> tuple[str, ...]:
    try:
        status = os.stat(file)
    except OSError:
        return ()
    return _read(str(file), status.st_size, status.st_mtime_ns) if status.st_size <= _LARGEST else ()


@lru_cache(16)
def _read(file: str, size: int, mtime_ns: int) -> tuple[str, ...]:
    """The keys of a file's table ``projects``; a file that is damaged has none: it is its client's to say so."""
    try:
        with open(file, "rb") as opened:
            data = opened.read()
        return tuple(_keys(data, file))
    except (OSError, ValueError, RecursionError):
        return ()


def _keys(data: bytes, file: str) -> Iterator[str]:
    if file.endswith(".toml"):
        import tomllib

        whole: object = tomllib.loads(data.decode("utf-8"))
    else:
        whole = json.loads(data)
    projects = whole.get("projects") if isinstance(whole, dict) else None
    yield from (str(key) for key in projects) if isinstance(projects, dict) else ()


_HEADS: Final = (1 << 13, 1 << 16)
"""Bytes that are read; the second only where the first name no directory."""
_CWD: Final = rb'"(?:cwd|directory|workspaceDirectory)"\s*:\s*("(?:[^"\\]|\\.)*")'


def _head(path: Path) -> bytes:
    head = b""
    try:
        with path.open("rb", buffering=0) as file:
            for room in _HEADS:
                more = file.read(room - len(head))
                head += more
                if not more or re.search(_CWD, head):
                    break
    except OSError:
        return head
    return head


def _cwd(head: bytes) -> str:
    found = re.search(_CWD, head)
    try:
        return str(json.loads(found[1])).removeprefix("file://") if found else ""
    except ValueError:
        return ""


def placed(found: Iterable[FoundRecording], around: Iterable[Path]) -> Iterator[FoundRecording]:
    """`found` in the same order without parts of others; those whose folder tells nothing with their directory and, in
    or below one of `around`, as ``here``.

    The heads of these are read when they are asked for: take no more than needed.
    """
    places = tuple(around)
    for one in found:
        if one.cwd or one.folder or one.group == SAMPLES or not one.source:
            yield one
            continue
        head, client = _head(one.path), find_client(one.source)
        if client and client.began_by and re.search(rb'"%s"\s*:\s*"' % client.began_by.encode(), head):
            continue
        cwd = _cwd(head)
        yield one._replace(cwd=cwd, group=HERE if is_inside(cwd, places) else one.group) if cwd else one
