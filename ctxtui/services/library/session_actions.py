"""What Home does to sessions: import, title, tags, archive, delete, export, whether a subscription pays for them.

A recording is only ever read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ctxtui.core.errors import CtxtuiError
from ctxtui.services.config.paths import data_dir, database
from ctxtui.services.config.settings import Settings
from ctxtui.views.model.session_summary import SessionSummary

if TYPE_CHECKING:
    from ctxtui.core.session import Session
    from ctxtui.services.recordings.open_by_name import Named
    from ctxtui.store.store import Store


class SessionActions:
    """The user's changes to the database, each on a connection of its own: call them in a worker thread.

    Every method raises `CtxtuiError`; a session that is not stored yet is imported first. The answer is what to tell
    the user.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    @contextmanager
    def _store(self) -> Iterator[Store]:
        # Imported here: SQLite is not needed for the first frame.
        from ctxtui.store.store import Store

        with Store.open(database(self._settings.data_dir)) as store:
            yield store

    def _imported(self, store: Store, one: SessionSummary) -> str:
        """The id of the session in the database."""
        if not one.path:
            return one.stored
        from ctxtui.services.counting.pricing import make_call_pricer, prices_for
        from ctxtui.services.recordings.identity import source_info
        from ctxtui.services.recordings.open import load

        loaded = load(Path(one.path), own=one.own)
        return store.import_session(
            loaded.session, source_info(loaded), price=make_call_pricer(prices_for(self._settings))
        )

    def _kept(self, store: Store, one: SessionSummary) -> str:
        return one.stored or self._imported(store, one)

    def import_(self, one: SessionSummary) -> str:
        """Copy the session into the database, or bring the copy up to date."""
        with self._store() as store:
            id_ = self._imported(store, one)
        return f"imported as {id_}"

    def rename(self, one: SessionSummary, title: str) -> str:
        """Give the session a title."""
        with self._store() as store:
            store.rename(self._kept(store, one), title)
        return f"renamed to {title}"

    def tag(self, one: SessionSummary, tags: Sequence[str]) -> str:
        """Set its tags to exactly `tags`."""
        with self._store() as store:
            id_ = self._kept(store, one)
            gone = set(one.tags) - set(tags)
            if gone:
                store.tag(id_, sorted(gone), remove=True)
            if tags:
                store.tag(id_, tags)
        return f"tagged {' '.join(tags)}" if tags else "tags removed"

    def archive(self, one: SessionSummary, archived: bool) -> str:
        """Take it out of the list, or put it back."""
        with self._store() as store:
            store.archive(self._kept(store, one), undo=not archived)
        return "archived; A shows archived sessions" if archived else "back in the list"

    def subscription(self, one: SessionSummary, on: bool) -> str:
        """Mark it as paid by a subscription, or as paid by use."""
        with self._store() as store:
            store.set_subscription(self._kept(store, one), undo=not on)
        return "paid by a subscription: tokens lead" if on else "paid by use: money leads"

    def delete(self, one: SessionSummary) -> str:
        """Delete the database's copy."""
        with self._store() as store:
            store.delete(one.stored)
        return "ctxtui's copy is deleted" + ("; the recording is untouched" if one.path else "")

    def export(self, one: SessionSummary, form: str, path: str) -> str:
        """Write the session (`form` ``ctxtui``) or its last call's context as a request body to a new file; a relative
        `path` is taken from where ctxtui was started."""
        # Imported here: codecs are not needed for the first frame.
        from ctxtui.analysis.call_choice import choose_call
        from ctxtui.services.editing.exporting import export_session, write_private

        session = self._session(one)
        made = export_session(session, form, choose_call(session))
        file = Path(path).expanduser()
        write_private(file, made.data)
        lost = f"; not carried over: {', '.join(made.lost)}" if made.lost else ""
        return f"{len(made.data):,} bytes written to {file}{lost}"

    def export_name(self, one: SessionSummary, form: str) -> str:
        """A file name to begin with."""
        stem = Path(one.path).name.partition(".")[0] if one.path else one.stored
        return f"{stem}.ctxtui.jsonl" if form == "ctxtui" else f"{stem}.{form}.json"

    def _session(self, one: SessionSummary) -> Session:
        if one.path:
            from ctxtui.services.recordings.open import load

            return load(Path(one.path), own=one.own).session
        with self._store() as store:
            return store.load(one.stored)


_WELCOMED = "welcomed"
_LOOKED = "tips-shown"


def first_run(settings: Settings) -> bool:
    """Whether ctxtui has never been welcomed its user here: no database, and no mark that says so."""
    folder = data_dir(settings.data_dir)
    return not (database(settings.data_dir).exists() or (folder / _WELCOMED).exists())


def welcomed(settings: Settings) -> None:
    """Leave the mark; where nothing can be written, the welcome comes again."""
    _mark(settings, _WELCOMED)


def first_look(settings: Settings) -> bool:
    """Whether no session was ever opened on a screen here; from now on one was. False where nothing can be written:
    else the tips would come again and again."""
    if not settings.tips or (data_dir(settings.data_dir) / _LOOKED).exists():
        return False
    return _mark(settings, _LOOKED)


def _mark(settings: Settings, name: str) -> bool:
    """Leave an empty file in the user's folder that says that something was; whether it could be written."""
    folder = data_dir(settings.data_dir)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        (folder / name).touch(mode=0o600)
    except OSError:
        return False
    return True


def subscribed(found: Named, settings: Settings) -> bool:
    """Whether the session that `found` names is marked; False where there is no database, or it cannot be asked."""
    path = database(settings.data_dir)
    if not path.exists() or (found.path is None and not found.stored):
        return False
    # Imported here: SQLite is not needed for the first frame.
    from ctxtui.store.store import Store

    file = os.path.abspath(found.path) if found.path is not None else ""
    try:
        with Store.open(path) as store:
            rows = [row for archived in (False, True) for row in store.sessions(archived)]
    except CtxtuiError:
        return False  # whoever needs the database says what is wrong with it; here the mark alone is missing
    return any(row.subscription and (row.id == found.stored or (file and row.path == file)) for row in rows)
