"""Which stored session a recording is: where it was read from, and the name by which it goes in the database."""

from __future__ import annotations

import os

from ctxtui.services.recordings.databases.address import file_of
from ctxtui.services.recordings.recording import Loaded
from ctxtui.store.rows import SourceInfo
from ctxtui.store.sessions.identity import own_id


def stored_name(loaded: Loaded) -> str:
    """The name by which a session goes in the database, stored or not."""
    return loaded.name if loaded.path is None and not loaded.paths else own_id(loaded.session, source_info(loaded))


def source_info(loaded: Loaded) -> SourceInfo:
    """Where a session was read from, as the store keeps it."""
    files = []
    for path in loaded.paths or ([loaded.path] if loaded.path is not None else []):
        status = os.stat(file_of(path))
        files.append(SourceInfo(os.path.abspath(path), status.st_size, status.st_mtime, loaded.source))
    if not files:
        return SourceInfo(format=loaded.source)
    main = files[0]
    return SourceInfo(main.path, main.size, main.mtime, main.format, tuple(files[1:]))
