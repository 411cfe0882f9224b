"""Notes and bookmarks of one recording: kept in the database, whether the recording is imported or not."""

from __future__ import annotations

import os
import time

from ctxtui.core.edit import Target
from ctxtui.core.note import Note
from ctxtui.core.session import Session
from ctxtui.services.config.paths import database
from ctxtui.services.config.settings import Settings
from ctxtui.services.recordings.recording import Loaded
from ctxtui.store.rows import SourceInfo
from ctxtui.store.sessions.identity import own_id
from ctxtui.store.store import Store

ABOUT = 120
"""Characters that a note quotes of what it is about."""


class Notebook:
    """The notes of the recording `loaded`. Reading and keeping opens the database: for a worker. Raises `CtxtuiError`
    where that cannot be used; reading makes none."""

    def __init__(self, loaded: Loaded, settings: Settings) -> None:
        self._settings = settings
        self._path = os.path.abspath(loaded.path) if loaded.path is not None else ""
        self.session = name_of(loaded.session, self._path)

    def read(self) -> list[Note]:
        """What is kept."""
        if not database(self._settings.data_dir).exists():
            return []
        with _store(self._settings) as store:
            return store.notes.for_session(self.session)

    def keep(self, note: Note) -> None:
        """Keep `note` in place of what was kept about the same."""
        with _store(self._settings) as store:
            store.notes.put(note)

    def on_block(self, target: Target, about: str) -> Note:
        """A note on a block that says nothing yet."""
        return Note(self.session, target=target, at=time.time(), about=about[:ABOUT], path=self._path)

    def on_call(self, call: str, about: str) -> Note:
        """A note on a call that says nothing yet."""
        return Note(self.session, call=call, at=time.time(), about=about[:ABOUT], path=self._path)


def name_of(session: Session, path: str) -> str:
    """The name by which the notes of a recording go."""
    return own_id(session, SourceInfo(path))


def every_note(settings: Settings) -> list[Note]:
    """All notes, newest first."""
    if not database(settings.data_dir).exists():
        return []
    with _store(settings) as store:
        return store.notes.all()


def _store(settings: Settings) -> Store:
    return Store.open(database(settings.data_dir))
