"""Notes and bookmarks of a recording, stored even if the recording is not imported."""

from __future__ import annotations

import os
import time

from ctxtui.core.edit import Target
from ctxtui.core.note import Note
from ctxtui.services.config.paths import database
from ctxtui.services.config.settings import Settings
from ctxtui.services.recordings.recording import Loaded
from ctxtui.store.rows import SourceInfo
from ctxtui.store.sessions.identity import own_id
from ctxtui.store.store import Store

MAX_QUOTE_CHARS = 120
"""Characters that a note quotes from its block or call."""


class Notebook:
    """The notes of the recording `loaded`, for a worker; reading does not create the database.

    Raises `CtxtuiError` if the database cannot be used.
    """

    def __init__(self, loaded: Loaded, settings: Settings) -> None:
        self._settings = settings
        self._path = os.path.abspath(loaded.path) if loaded.path is not None else ""
        self.session = own_id(loaded.session, SourceInfo(self._path))
        if loaded.is_stored and not loaded.session.about.id:
            # The same id as for the file that it was imported from.
            self.session = loaded.name

    def read(self) -> list[Note]:
        if not database(self._settings.data_dir).exists():
            return []
        with _open_store(self._settings) as store:
            return store.notes.for_session(self.session)

    def store(self, note: Note) -> None:
        """Store `note`, replacing an earlier one on the same block or call."""
        with _open_store(self._settings) as store:
            store.notes.put(note)

    def on_block(self, target: Target, about: str) -> Note:
        return Note(self.session, target=target, at=time.time(), about=about[:MAX_QUOTE_CHARS], path=self._path)

    def on_call(self, call: str, about: str) -> Note:
        return Note(self.session, call=call, at=time.time(), about=about[:MAX_QUOTE_CHARS], path=self._path)


def read_all_notes(settings: Settings) -> list[Note]:
    """Read all notes, newest first."""
    if not database(settings.data_dir).exists():
        return []
    with _open_store(settings) as store:
        return store.notes.all()


def _open_store(settings: Settings) -> Store:
    return Store.open(database(settings.data_dir))
