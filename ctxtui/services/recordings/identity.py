"""The identity of a recording in the database: its source, and its session's name."""

from __future__ import annotations

import os

from ctxtui.services.recordings.databases.address import file_of
from ctxtui.services.recordings.recording import Loaded
from ctxtui.store.rows import SourceInfo
from ctxtui.store.sessions.identity import own_id


def stored_name(loaded: Loaded) -> str:
    """The session's name in the database, whether it is stored or not."""
    return loaded.name if loaded.path is None and not loaded.paths else own_id(loaded.session, source_info(loaded))


def source_info(loaded: Loaded) -> SourceInfo:
    """The files a session was read from, as the store records them."""
    files = []
    for path in loaded.paths or ([loaded.path] if loaded.path is not None else []):
        status = os.stat(file_of(path))
        files.append(SourceInfo(os.path.abspath(path), status.st_size, status.st_mtime, loaded.source))
    if not files:
        return SourceInfo(format=loaded.source)
    main = files[0]
    return SourceInfo(main.path, main.size, main.mtime, main.format, tuple(files[1:]))
