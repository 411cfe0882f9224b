"""Request and response bodies that Claude Code writes, and their sessions (facts §13.1).

It writes them if ``OTEL_LOG_RAW_API_BODIES=file:DIR`` is set.
"""

from __future__ import annotations

import glob
import json
import os
import re
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from ctxtui.core.errors import NotFound, Several, Unreadable
from ctxtui.services.config.clients import CLIENTS
from ctxtui.services.config.config import PREFIX
from ctxtui.services.config.config import load as load_settings
from ctxtui.services.recordings.databases.address import address_of, split_address
from ctxtui.services.recordings.file_tail import FileStamp, file_stamp, is_settled, list_entries, modification_time

INDEX: Final = "index.jsonl"
"""Lists the bodies of a folder."""
VARIABLE: Final = "OTEL_LOG_RAW_API_BODIES"
SETTING: Final = "raw_api_bodies"
DEFAULT_FOLDER: Final = "raw-api-bodies"
"""The folder next to a transcript that is always searched."""

REQUEST: Final = ".request.json"
_BODY: Final = re.compile(r"[A-Za-z0-9_-]+\.(?:request|response)\.json")
_UUID: Final = rb"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_SESSION: Final = re.compile(rb'session_(?:id[\\"]*\s*:\s*[\\"]*)?(' + _UUID + rb")")
"""The session's id in a request's ``metadata``, also inside of a JSON string."""
_TAIL_BYTES: Final = 16_384
"""Bytes at the end of a request that are searched first: the client writes the session id after the tools."""


def is_body(name: str) -> bool:
    return _BODY.fullmatch(name) is not None


def holds_bodies(names: Collection[str]) -> bool:
    """Whether files of these `names` make a folder of bodies."""
    return any(name.endswith(REQUEST) and is_body(name) for name in names) or (
        INDEX in names and any(map(is_body, names))
    )


def is_body_folder(path: Path) -> bool:
    return holds_bodies([entry.name for entry in list_entries(path)])


def configured_folder() -> Path | None:
    """The folder of the setting `raw_api_bodies`, else of the client's variable, else None.

    Raises `BadConfig`.
    """
    name = _read_setting(
        tuple(sorted((key, text) for key, text in os.environ.items() if key.startswith((PREFIX, "HOME", "XDG"))))
    )
    if not name:
        variable = os.environ.get(VARIABLE, "")
        name = variable.removeprefix("file:") if variable.startswith("file:") else ""
    return Path(os.path.expanduser(name)) if name else None


@cache
def _read_setting(env: tuple[tuple[str, str], ...]) -> str:
    # Only the user may set it, so project files are not read.
    return load_settings(env=dict(env), cwd=Path(os.sep)).settings.raw_api_bodies


def body_folders_for(transcript: Path) -> tuple[Path, ...]:
    """The folders that may hold bodies of the session in the file `transcript`, nearest first."""
    configured = configured_folder()
    places = [transcript.parent, transcript.parent / DEFAULT_FOLDER, *([configured] if configured is not None else [])]
    return tuple(dict.fromkeys(place.absolute() for place in places))


_SESSION_BY_PATH: Final[dict[str, str]] = {}
"""Session ids by path of a request: bodies never change, and many sessions search the same folder."""


class BodyFolder:
    """A folder of request and response bodies, and the session that each file belongs to.

    The index names the session. A request that is not in the index has it in its ``metadata``; a response that is not
    in the index belongs to the session of the request before it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._name, self._index = str(path), path / INDEX
        self._seen: tuple[int, FileStamp] | None = None
        self._is_settled = False
        self._session_by_file: dict[str, str] = {}
        self._files: list[str] = []

    def has_changed(self) -> bool:
        """Whether files may have been added since the last listing."""
        return not self._is_settled or self._seen != self._read_stamps()

    def list_sessions(self) -> list[str]:
        """The ids of the sessions with requests here, in order of their first one.

        "" is for requests without an id.
        """
        self._update()
        requests = [name for name in self._files if name.endswith(REQUEST)]
        return list(dict.fromkeys(self._find_session(name) for name in requests))

    def list_files(self, sessions: Iterable[str]) -> list[Path]:
        """The bodies of the given sessions in the order of writing, the index first."""
        self._update()
        session_ids = frozenset(sessions)
        paths: list[Path] = []
        last_session = ""
        for name in self._files:
            if name.endswith(REQUEST):
                session_id = last_session = self._find_session(name)
            else:
                session_id = self._session_by_file.get(name, last_session)
            if session_id in session_ids:
                paths.append(self.path / name)
        return [self._index, *paths] if paths and self._index.is_file() else paths

    def _update(self) -> None:
        if not self.has_changed():
            return
        self._seen = self._read_stamps()
        self._files = [name for _, name in sorted(_dated_bodies(self.path))]
        self._read_index()
        # A file created right after the listing would not change the folder's time.
        self._is_settled = is_settled(self._seen[0])

    def _read_stamps(self) -> tuple[int, FileStamp]:
        return modification_time(self._name), file_stamp(self._index)

    def _read_index(self) -> None:
        try:
            lines = self._index.read_bytes().splitlines()
        except OSError:
            return
        for line in lines:
            try:
                value = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(value, dict) and isinstance(value.get("session_id"), str):
                for key in ("request_file", "response_file"):
                    if isinstance(value.get(key), str):
                        self._session_by_file[value[key]] = value["session_id"]

    def _find_session(self, name: str) -> str:
        session = self._session_by_file.get(name)
        if session is None:
            path = str(self.path / name)
            session = _SESSION_BY_PATH.get(path) or _read_session_id(self.path / name)
            if session:
                _SESSION_BY_PATH[path] = session
        return session


def _dated_bodies(folder: Path) -> Iterator[tuple[int, str]]:
    names = [entry.name for entry in list_entries(folder) if is_body(entry.name)]
    return ((time, name) for name in names if (time := modification_time(f"{folder}/{name}")))


def _read_session_id(path: Path) -> str:
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - _TAIL_BYTES))
            ids = _SESSION.findall(file.read())
            if not ids and size > _TAIL_BYTES:
                file.seek(0)
                ids = _SESSION.findall(file.read())
    except OSError:
        return ""
    return ids[-1].decode() if ids else ""


FOLDER_KEY: Final = "claude_code_bodies"
FILE_KEY: Final = "claude_code_body"


class BodySession(NamedTuple):
    """A session in a folder of bodies; `transcript` is None if not found."""

    folder: Path
    id: str
    transcript: Path | None


def find_body_session(path: Path) -> BodySession | None:
    """The session that `path` names; None if it is no folder of bodies.

    `path` is a folder of bodies or its index (the session that began last is taken), or ``FOLDER#SESSION``. Raises
    `NotFound`, `Several`.
    """
    folder, id_ = split_address(path)
    if folder.name == INDEX:
        folder = folder.parent
    if not is_body_folder(folder):
        return None
    sessions = BodyFolder(folder).list_sessions()
    if id_ and id_ not in sessions:
        matches = [session for session in sessions if session.startswith(id_)]
        if not matches:
            raise NotFound(f"no session {id_} in {folder}: it has bodies of {', '.join(filter(None, sessions))}")
        if len(matches) > 1:
            raise Several(f"{id_} fits {len(matches)} sessions in {folder}: {', '.join(matches)}")
        id_ = matches[0]
    chosen = id_ or (sessions[-1] if sessions else "")
    return BodySession(folder, chosen, find_transcript(chosen, folder))


def find_transcript(session: str, folder: Path) -> Path | None:
    """Find the transcript of `session` next to the folder of bodies or in clients' own folders.

    None if absent.
    """
    if not session:
        return None
    name = f"{session}.jsonl"
    for place in (folder, folder.absolute().parent):
        if os.path.isfile(place / name):
            return place / name
    for client in CLIENTS:
        for folder_place in client.places(os.environ):
            if not folder_place.database:
                pattern = f"{glob.escape(str(folder_place.root))}/{folder_place.pattern.rpartition('/')[0]}"
                paths = glob.glob(f"{pattern}/{glob.escape(name)}", recursive=True)
                if paths:
                    return Path(min(paths))
    return None


def list_body_recordings(folder: Path, near: bool = True) -> list[Path]:
    """List the sessions in a folder of bodies, the one that began last first.

    With `near`, sessions whose transcript is in the folder or its parent are left out.
    """
    sessions = BodyFolder(folder).list_sessions()
    places = (folder, folder.absolute().parent) if near else ()
    without_transcript = [
        id_ for id_ in sessions if not any(os.path.isfile(place / f"{id_}.jsonl") for place in places)
    ]
    return [
        folder if len(sessions) == 1 or not id_ else address_of(folder, id_) for id_ in reversed(without_transcript)
    ]


def read_bodies(session: BodySession) -> Iterator[bytes]:
    """Yield all bodies of a session as one stream.

    It is the index, or the number of files, then a line per file. Raises `Unreadable`.
    """
    paths = BodyFolder(session.folder).list_files([session.id])
    if not paths or paths[0].name != INDEX:
        yield json.dumps({FOLDER_KEY: len(paths)}).encode() + b"\n"
    for path in paths:
        try:
            data = path.read_bytes()
        except OSError as error:
            raise Unreadable(f"cannot be read: {error.strerror}", place=str(path)) from error
        if path.name == INDEX:
            yield from _select_lines(data, session.id)
            continue
        text = data.decode("utf-8", "surrogateescape")
        yield json.dumps({FILE_KEY: path.name, "text": text}).encode() + b"\n"


def _select_lines(index: bytes, session: str) -> Iterator[bytes]:
    """Yield the index lines of `session`, and those that name no session or are unreadable."""
    for line in index.splitlines():
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict) or value.get("session_id") in (session, None):
            yield line + b"\n"
