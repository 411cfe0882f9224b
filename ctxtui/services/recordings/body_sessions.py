"""The sessions in a folder of bodies that Claude Code wrote: each is opened by itself, with its transcript where there
is one. One of several goes by the name ``FOLDER#SESSION``."""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from ctxtui.core.errors import NotFound, Unreadable
from ctxtui.services.config.clients import CLIENTS
from ctxtui.services.recordings.body_folder import INDEX, BodyFolder, is_body_folder
from ctxtui.services.recordings.databases.address import address_of, parted

FOLDER: Final = "claude_code_bodies"
FILE: Final = "claude_code_body"


class BodySession(NamedTuple):
    """A session as bodies tell it: the folder, the session's id, and its transcript, None where none is found."""

    folder: Path
    id: str
    transcript: Path | None


def session_at(path: Path, env: Mapping[str, str] | None = None) -> BodySession | None:
    """The session that `path` names: a folder of bodies or its index (the newest session there), or one of them as
    ``FOLDER#SESSION``; None for any other path. Raises `NotFound`."""
    folder, id_ = parted(path)
    if folder.name == INDEX:
        folder = folder.parent
    if not is_body_folder(folder):
        return None
    there = BodyFolder(folder).sessions()
    if id_ and id_ not in there:
        fits = [one for one in there if one.startswith(id_)]
        if len(fits) != 1:
            raise NotFound(f"no session {id_} in {folder}: it has bodies of {', '.join(there)}")
        id_ = fits[0]
    chosen = id_ or (there[-1] if there else "")
    return BodySession(folder, chosen, transcript_of(chosen, folder, env))


def transcript_of(session: str, folder: Path, env: Mapping[str, str] | None = None) -> Path | None:
    """Claude Code's transcript of `session`: in the folder of its bodies, beside that folder, or where the client keeps
    its own; None where it is in none of these."""
    if not session:
        return None
    name = f"{session}.jsonl"
    for place in (folder, folder.absolute().parent):
        if (place / name).is_file():
            return place / name
    for client in CLIENTS:
        for kept in client.places(os.environ if env is None else env):
            if not kept.database:
                there = kept.pattern.rpartition("/")[0]
                found = glob.glob(f"{glob.escape(str(kept.root))}/{there}/{glob.escape(name)}", recursive=True)
                if found:
                    return Path(min(found))
    return None


def recordings_of(folder: Path, near: bool = True) -> list[Path]:
    """The sessions that a folder has bodies of, the newest first; without those whose transcript lies there or beside
    it, unless `near` is false: the transcript then stands for them."""
    there = BodyFolder(folder).sessions()
    places = (folder, folder.absolute().parent) if near else ()
    alone = [id_ for id_ in there if not any((place / f"{id_}.jsonl").is_file() for place in places)]
    return [folder if len(there) == 1 or not id_ else address_of(folder, id_) for id_ in reversed(alone)]


def stream_of(session: BodySession) -> Iterator[bytes]:
    """All bodies of a session as one stream: its index, then a line for each file. Raises `Unreadable`."""
    paths = BodyFolder(session.folder).files([session.id])
    if not paths or paths[0].name != INDEX:
        yield json.dumps({FOLDER: len(paths)}).encode() + b"\n"
    for path in paths:
        try:
            data = path.read_bytes()
        except OSError as error:
            raise Unreadable(f"cannot be read: {error.strerror}", place=str(path)) from error
        if path.name == INDEX:
            yield from _own_lines(data, session.id)
            continue
        text = data.decode("utf-8", "surrogateescape")
        yield json.dumps({FILE: path.name, "text": text}).encode() + b"\n"


def _own_lines(index: bytes, session: str) -> Iterator[bytes]:
    """The lines of an index that are of `session`, or that cannot be read: the reader says so."""
    for line in index.splitlines():
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict) or value.get("session_id") in (session, None):
            yield line + b"\n"
