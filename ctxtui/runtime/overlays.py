"""The overlays of an open session: read when they are first asked for, kept in the database in the background."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from ctxtui.core.errors import NotFound
from ctxtui.runtime.keeping import source_info, stored_name
from ctxtui.runtime.overlay import Overlay
from ctxtui.runtime.places import database
from ctxtui.runtime.settings import Settings

if TYPE_CHECKING:
    from ctxtui.core.edit import Edit
    from ctxtui.runtime.loaded import Loaded
    from ctxtui.store.store import Store


class Overlays:
    """The edits of every thread of the session that `loaded` reads.

    A session that was only opened is imported by the first `save` that has something to write (reading writes nothing).
    """

    def __init__(self, loaded: Loaded, settings: Settings) -> None:
        self._loaded = loaded
        self._settings = settings
        self._known: dict[str, Overlay] = {}
        self._lock = threading.Lock()
        self._id = ""

    def of(self, thread: str) -> Overlay:
        """The overlay of `thread`. Raises `CtxtuiError` where the database cannot be read."""
        with self._lock:
            found = self._known.get(thread)
            if found is None:
                found = self._known[thread] = Overlay(self._read(thread), thread=thread)
            return found

    @property
    def unsaved(self) -> bool:
        """Whether `save` has anything to write."""
        return any(overlay.unsaved for overlay in self._known.values())

    def save(self) -> None:
        """Write what is new, for a worker thread. Raises `CtxtuiError`; what could not be written stays unsaved."""
        if not self.unsaved:
            return
        from ctxtui.store.store import Store

        with Store.open(database(self._settings.data_dir)) as store:
            for overlay in list(self._known.values()):
                overlay.save(store, self._stored)

    def _read(self, thread: str) -> list[Edit]:
        path = database(self._settings.data_dir)
        if not path.exists():
            return []
        from ctxtui.store.store import Store

        with Store.open(path, readonly=True) as store:
            try:
                return store.edits(self._name, thread)
            except NotFound:
                return []

    @property
    def _name(self) -> str:
        """The name by which the session goes in the database, stored or not."""
        return stored_name(self._loaded)

    def _stored(self, store: Store) -> str:
        """The session's id in the database; imports it where it is not there."""
        if self._id:
            return self._id
        loaded = self._loaded
        if loaded.path is None:
            self._id = store.resolve(loaded.name)
        else:
            from ctxtui.runtime.pricing import price_of, prices_for

            price = price_of(prices_for(self._settings))
            self._id = store.import_session(loaded.session, source_info(loaded), price=price)
        return self._id
