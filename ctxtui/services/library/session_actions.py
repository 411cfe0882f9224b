"""Home's actions on sessions: import, title, tags, archive, delete, export, subscription.

Recordings are only read.
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
    """The user's changes to the database; for a worker thread.

    Actions raise `CtxtuiError` and return a message for the user. A session that is not stored yet is imported before
    its title, tags or state are changed.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    @contextmanager
    def _open_store(self) -> Iterator[Store]:
        # Imported here: SQLite is not needed for the first frame.
        from ctxtui.store.store import Store

        with Store.open(database(self._settings.data_dir)) as store:
            yield store

    def _import(self, store: Store, summary: SessionSummary) -> str:
        """Import the session, or update its copy, and return its id.

        Nothing is done for one without a file.
        """
        if not summary.path:
            return summary.stored
        from ctxtui.services.counting.pricing import make_call_pricer, prices_for
        from ctxtui.services.recordings.identity import source_info
        from ctxtui.services.recordings.open import load

        loaded = load(Path(summary.path), own=summary.own)
        return store.import_session(
            loaded.session, source_info(loaded), price=make_call_pricer(prices_for(self._settings))
        )

    def _stored_id(self, store: Store, summary: SessionSummary) -> str:
        return summary.stored or self._import(store, summary)

    def import_(self, summary: SessionSummary) -> str:
        with self._open_store() as store:
            id_ = self._import(store, summary)
        return f"imported as {id_}"

    def rename(self, summary: SessionSummary, title: str) -> str:
        with self._open_store() as store:
            store.rename(self._stored_id(store, summary), title)
        return f"renamed to {title}"

    def tag(self, summary: SessionSummary, tags: Sequence[str]) -> str:
        """Add `tags` to the session, and remove the other tags of `summary`."""
        with self._open_store() as store:
            id_ = self._stored_id(store, summary)
            removed = set(summary.tags) - set(tags)
            if removed:
                store.tag(id_, sorted(removed), remove=True)
            if tags:
                store.tag(id_, tags)
        return f"tagged {' '.join(tags)}" if tags else "tags removed"

    def archive(self, summary: SessionSummary, archived: bool) -> str:
        with self._open_store() as store:
            store.archive(self._stored_id(store, summary), undo=not archived)
        return "archived; show or hide archived sessions with ctrl+p" if archived else "back in the list"

    def subscription(self, summary: SessionSummary, on: bool) -> str:
        with self._open_store() as store:
            store.set_subscription(self._stored_id(store, summary), undo=not on)
        return "paid by a subscription: tokens come first" if on else "paid by use: money comes first"

    def delete(self, summary: SessionSummary) -> str:
        with self._open_store() as store:
            store.delete(summary.stored)
        return "ctxtui's copy is deleted; the recording is untouched" if summary.path else "the session is deleted"

    def export(self, summary: SessionSummary, form: str, path: str) -> str:
        """Write the session to a new file.

        With the `form` ``ctxtui`` it is the whole session, otherwise its last call's context as a body. A relative
        `path` is below the directory in which ctxtui was started.
        """
        # Imported here: codecs are not needed for the first frame.
        from ctxtui.analysis.call_choice import choose_call
        from ctxtui.services.editing.exporting import export_session, left_out, write_private

        session = self._read_session(summary)
        result = export_session(session, form, choose_call(session))
        file = Path(os.path.expanduser(path))
        write_private(file, result.data)
        lost = f"; without {', '.join(left_out(result))}" if result.lost else ""
        return f"{len(result.data):,} bytes written to {file}{lost}"

    def export_name(self, summary: SessionSummary, form: str) -> str:
        return f"{summary.id}.ctxtui.jsonl" if form == "ctxtui" else f"{summary.id}.{form}.json"

    def _read_session(self, summary: SessionSummary) -> Session:
        if summary.path:
            from ctxtui.services.recordings.open import load

            return load(Path(summary.path), own=summary.own).session
        with self._open_store() as store:
            return store.load(summary.stored)


_WELCOMED = "welcomed"
"""An empty file that records that the welcome was shown."""
_TIPS_SHOWN = "tips-shown"


def is_first_run(settings: Settings) -> bool:
    """Whether this user runs ctxtui for the first time: no database and no mark file."""
    folder = data_dir(settings.data_dir)
    return not (database(settings.data_dir).exists() or (folder / _WELCOMED).exists())


def mark_welcomed(settings: Settings) -> None:
    """Record that the welcome was shown; if that fails, it is shown again."""
    _create_mark(settings, _WELCOMED)


def mark_first_session(settings: Settings) -> bool:
    """Record that a session was opened on a screen.

    True if none was before, so that the tips are shown. False if they are switched off, or the mark cannot be written:
    they would be shown every time.
    """
    if not settings.tips or (data_dir(settings.data_dir) / _TIPS_SHOWN).exists():
        return False
    return _create_mark(settings, _TIPS_SHOWN)


def _create_mark(settings: Settings, name: str) -> bool:
    folder = data_dir(settings.data_dir)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        (folder / name).touch(mode=0o600)
    except OSError:
        return False
    return True


def is_subscription(named: Named, settings: Settings) -> bool:
    """Whether the session `named` is marked as paid by a subscription.

    False without a readable database.
    """
    path = database(settings.data_dir)
    if not path.exists() or (named.path is None and not named.stored):
        return False
    # Imported here: SQLite is not needed for the first frame.
    from ctxtui.store.store import Store

    file = os.path.abspath(named.path) if named.path is not None else ""
    try:
        with Store.open(path) as store:
            rows = [row for archived in (False, True) for row in store.sessions(archived)]
    except CtxtuiError:
        return False  # other uses of the database report its error
    return any(row.subscription and (row.id == named.stored or (file and row.path == file)) for row in rows)
