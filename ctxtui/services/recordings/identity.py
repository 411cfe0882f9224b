"""The identity of a recording in the database: its source, and its session's id."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ctxtui.services.recordings.databases.address import file_of
from ctxtui.services.recordings.discover import ATTACHED
from ctxtui.services.recordings.recording import Loaded
from ctxtui.store.rows import SourceInfo
from ctxtui.store.sessions.identity import own_id

if TYPE_CHECKING:
    from ctxtui.store.store import Store


def stored_id(loaded: Loaded, store: Store | None) -> str:
    """The id of the session's edits in `store` (None: no database), imported or not.

    It is the one that an import gives, except for a relay's recording: the relay reads edits by the session's own id.
    """
    if loaded.is_stored:
        return loaded.name
    source = source_info(loaded)
    if store is None or loaded.source == ATTACHED:
        return own_id(loaded.session, source)
    return store.id_for(loaded.session, source)


def source_info(loaded: Loaded) -> SourceInfo:
    """The files that a session was read from; one that is gone has size and time 0."""
    files = []
    for path in loaded.paths or ([loaded.path] if loaded.path is not None else []):
        try:
            status = os.stat(file_of(path))
            size, mtime = status.st_size, status.st_mtime
        except OSError:
            size, mtime = 0, 0.0
        files.append(SourceInfo(os.path.abspath(path), size, mtime, loaded.source))
    if not files:
        return SourceInfo(format=loaded.source)
    main = files[0]
    return SourceInfo(main.path, main.size, main.mtime, main.format, tuple(files[1:]))
