"""The edits of an open session by thread: staged, applied, undone, stored.

Each thread has a log of edits, to which every action is appended, undo too. The logs change in memory; `save` writes
what is new and may run in a worker thread.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from ctxtui.core.edit import USER, Edit, Target
from ctxtui.core.edit_log import (
    EditsInForce,
    Stamp,
    apply_staged,
    discard_staged,
    edits_in_force,
    last_action,
    last_undone_action,
    postpone_staged,
    record_export,
    redo_last,
    revert_entries,
    undo_last,
    waiting_until,
)
from ctxtui.core.errors import NotFound
from ctxtui.core.session import MAIN
from ctxtui.services.config.paths import database
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.pricing import make_call_pricer, prices_for
from ctxtui.services.recordings.identity import source_info, stored_id
from ctxtui.services.recordings.recording import Loaded
from ctxtui.store.store import Store

_Derived = tuple[int, EditsInForce, dict[str, str], tuple[Edit, ...]]
"""A log's version, its edits in force, what each waiting edit waits for (by id), and all edits in force in order."""
_ByBlock = dict[str, list[tuple[int, Edit]]]
"""Edits in force by digest and id of their target blocks, each with its number."""


class ThreadEdits:
    """The edits of a thread, as known to this process; `now` gives Unix seconds."""

    def __init__(
        self,
        log: Iterable[Edit] = (),
        *,
        thread: str = MAIN,
        now: Callable[[], float] = time.time,
        new_id: Callable[[], str] = lambda: secrets.token_hex(6),
    ) -> None:
        self.thread = thread
        self._log = list(log)
        self._saved = len(self._log)
        self._earlier = {entry.id for entry in self._log}
        self._artifacts: dict[str, bytes] = {}
        self._now = now
        self._new_id = new_id
        self._lock = threading.Lock()
        self._version = len(self._log)
        self._state: _Derived | None = None
        self._by_block: tuple[int, _ByBlock] = -1, {}

    @property
    def version(self) -> int:
        """A number that grows with every change of the log."""
        return self._version

    @property
    def log(self) -> Sequence[Edit]:
        return tuple(self._log)

    @property
    def edits_in_force(self) -> EditsInForce:
        return self._derived[1]

    @property
    def _derived(self) -> _Derived:
        if self._state is None or self._state[0] != self._version:
            in_force = edits_in_force(self._log)
            ids = {edit.id for part in in_force for edit in part}
            both = tuple(edit for edit in self._log if edit.id in ids)
            self._state = self._version, in_force, waiting_until(self._log), both
        return self._state

    def _append_staged(self, edits: Sequence[Edit]) -> list[Edit]:
        # Faster than `_append`: extends the cached state.
        _, in_force, waits, both = self._derived
        before, (indexed_version, index) = self._version, self._by_block
        entries = self._append([*edits])
        self._state = (
            self._version,
            EditsInForce(in_force.applied, (*in_force.staged, *entries)),
            waits,
            (*both, *entries),
        )
        if indexed_version == before:
            _add_to_index(index, entries, len(both))
            self._by_block = self._version, index
        return entries

    def edits_of(self, targets: Iterable[Target]) -> list[Edit]:
        """The edits in force with any of these targets, by digest or id, in order of the log."""
        if self._by_block[0] != self._version:
            self._by_block = self._version, _add_to_index({}, self.in_force, 0)
        index = self._by_block[1]
        names = {name for target in targets for name in (target.digest, target.id) if name}
        by_number = {number: edit for name in names for number, edit in index.get(name, ())}
        return [by_number[number] for number in sorted(by_number)]

    @property
    def waiting(self) -> Mapping[str, str]:
        """The moments that staged edits wait for, by their id (`core.edit_log`)."""
        return self._derived[2]

    @property
    def ready(self) -> tuple[Edit, ...]:
        return tuple(edit for edit in self.staged if edit.id not in self.waiting)

    @property
    def staged(self) -> tuple[Edit, ...]:
        """Edits not applied yet, also waiting ones."""
        return self.edits_in_force.staged

    @property
    def applied(self) -> tuple[Edit, ...]:
        return self.edits_in_force.applied

    @property
    def in_force(self) -> tuple[Edit, ...]:
        return self._derived[3]

    @property
    def unsaved(self) -> bool:
        """Whether `save` has anything to write."""
        return self._saved < len(self._log) or bool(self._artifacts)

    def is_redundant(self, edit: Edit) -> bool:
        """Whether the same edit is in force, and none of another kind changes its targets after it.

        False for edits that add text.
        """
        if edit.spec.adds:
            return False
        changes = edit.spec.rewrites or edit.spec.takes_away
        for earlier in reversed(self.edits_of(edit.targets) if edit.targets else self.in_force):
            if (earlier.kind, earlier.targets) == (edit.kind, edit.targets):
                return earlier.payload == edit.payload
            if changes and earlier.kind != edit.kind and (earlier.spec.rewrites or earlier.spec.takes_away):
                return False
        return False

    def stage_all(self, edits: Iterable[Edit]) -> list[Edit]:
        """Stage several edits as one action, which one undo reverts; return the new entries.

        Redundant edits are skipped, and a policy's edit that was staged before, even if it was reverted.
        """
        # The user's edits get new ids; a policy's edit keeps its own, which describes its effect.
        stamp = self._make_stamp()
        entries = []
        for n, e in enumerate([edit for edit in edits if not self.is_redundant(edit)]):
            id_ = f"{stamp.id}.{n}" if e.author == USER else e.id
            entries.append(
                Edit(id_, e.kind, e.targets, author=e.author, at=stamp.at, payload=e.payload, batch=stamp.id)
            )
        own_ids = {entry.id for entry in self._log}
        return self._append_staged([edit for edit in entries if edit.id not in own_ids])

    def apply(self, only: Iterable[str] | None = None) -> list[Edit]:
        """Apply the staged edits, also waiting ones, or those with the ids `only`. Return the new entries."""
        return self._append(apply_staged(self._log, self._make_stamp(), only))

    def postpone(self, until: str, only: Iterable[str] | None = None) -> list[Edit]:
        """Let the staged edits, or those with the ids `only`, wait; return the new entries.

        `until` is `edit_log.EXPIRY` or `edit_log.MISS`; "" ends the waiting.
        """
        return self._append(postpone_staged(self._log, until, self._make_stamp(), only))

    def record_export(self, command: str, place: str, without: Sequence[str] = (), folder: str = "") -> list[Edit]:
        """See `edit_log.record_export`."""
        return self._append(record_export(self._make_stamp(), command, place, without, folder))

    def discard(self) -> list[Edit]:
        """Discard the staged edits; undo restores them."""
        return self._append(discard_staged(self._log, self._make_stamp()))

    def revert(self, ids: Iterable[str], *, author: str = USER) -> list[Edit]:
        return self._append(revert_entries(self._log, ids, Stamp(self._new_id(), self._now(), author)))

    def add_stored(self, stored: Iterable[Edit]) -> list[Edit]:
        """Add entries that another process stored; return the new ones, none during a `save`."""
        if not self._lock.acquire(blocking=False):
            return []
        try:
            own_ids = {entry.id for entry in self._log}
            new = [entry for entry in stored if entry.id not in own_ids]
            # Same order as in the database: before entries not stored yet.
            self._log[self._saved : self._saved] = new
            self._saved += len(new)
            self._earlier |= {entry.id for entry in new}
            self._version += len(new)
            return new
        finally:
            self._lock.release()

    def remove_staged(self, entries: Sequence[Edit]) -> None:
        """Remove edits that were just staged. Revert them if they are saved or no longer the newest ones."""
        count = len(entries)
        if not count:
            return
        # Do not wait for a save, which is slow when it imports the session.
        free = self._lock.acquire(blocking=False)
        try:
            if free and len(self._log) - self._saved >= count and self._log[-count:] == list(entries):
                del self._log[-count:]
                self._version += 1
                return
        finally:
            if free:
                self._lock.release()
        self.revert(edit.id for edit in entries)

    def undo(self) -> list[Edit]:
        """Undo the last action, even one of an earlier process."""
        return self._append(undo_last(self._log, self._make_stamp()))

    @property
    def last_done(self) -> Sequence[Edit]:
        """The entries of the action that `undo` would revert; empty if there is none."""
        return last_action(self._log)

    @property
    def last_undone(self) -> Sequence[Edit]:
        """The entries of the action that `redo` would restore; empty if there is none."""
        return last_undone_action(self._log)

    def is_earlier(self, entries: Sequence[Edit]) -> bool:
        """Whether all of `entries` were read from the database; False without any."""
        return bool(entries) and all(entry.id in self._earlier for entry in entries)

    def redo(self) -> list[Edit]:
        return self._append(redo_last(self._log, self._make_stamp()))

    def keep_artifact(self, name: str, data: bytes) -> None:
        """Store content that an ``externalize`` edit moves out, at the next `save`."""
        self._artifacts[name] = data

    def save(self, store: Store, session: Callable[[Store], str]) -> None:
        """Write new entries and artifacts to `store`; `session` returns the session's id in it."""
        with self._lock:
            entries, artifacts = self._log[self._saved :], dict(self._artifacts)
            if not entries and not artifacts:
                return
            id_ = session(store)
            store.add_edits(id_, entries, thread=self.thread)
            for name, data in artifacts.items():
                store.put_artifact(id_, name, data)
                if self._artifacts.get(name) is data:
                    del self._artifacts[name]
            self._saved += len(entries)

    def _make_stamp(self) -> Stamp:
        return Stamp(self._new_id(), self._now())

    def _append(self, entries: list[Edit]) -> list[Edit]:
        self._log += entries
        self._version += len(entries)
        return entries


def _add_to_index(index: _ByBlock, edits: Iterable[Edit], first: int) -> _ByBlock:
    for number, edit in enumerate(edits, first):
        for name in {name for target in edit.targets for name in (target.digest, target.id) if name}:
            index.setdefault(name, []).append((number, edit))
    return index


class SessionEdits:
    """The edits of all threads of an open session. `save` imports a session that is not stored yet."""

    def __init__(self, loaded: Loaded, settings: Settings) -> None:
        self._loaded = loaded
        self._settings = settings
        self._threads: dict[str, ThreadEdits] = {}
        self._lock = threading.Lock()
        self._id = ""
        self._stamps: tuple[tuple[int, int], ...] = ()

    def of_thread(self, thread: str) -> ThreadEdits:
        """The edits of `thread`. Raises `CtxtuiError` if the database cannot be read."""
        with self._lock:
            if thread not in self._threads:
                self._threads[thread] = ThreadEdits(self._read_log(thread), thread=thread)
            return self._threads[thread]

    @property
    def unsaved(self) -> bool:
        return any(overlay.unsaved for overlay in self._threads.values())

    def save(self) -> None:
        """Write new entries; for a worker thread. Raises `CtxtuiError`; unwritten entries stay unsaved."""
        if not self.unsaved:
            return
        with Store.open(database(self._settings.data_dir)) as store:
            for overlay in list(self._threads.values()):
                overlay.save(store, self._find_stored_id)

    def has_database_changed(self) -> bool:
        """Whether the database has changed since the last call; True at the first."""
        path = database(self._settings.data_dir)
        before = self._stamps
        self._stamps = tuple(_file_stamp(Path(f"{path}{end}")) for end in ("", "-wal"))
        return self._stamps != before

    def stored(self) -> dict[str, list[Edit]]:
        """Read the stored logs of the threads in use; for a worker thread. Raises `CtxtuiError`."""
        return {thread: self._read_log(thread) for thread in list(self._threads)}

    def add_stored(self, stored: Mapping[str, Iterable[Edit]]) -> list[Edit]:
        return [entry for thread, log in stored.items() for entry in self.of_thread(thread).add_stored(log)]

    def _read_log(self, thread: str) -> list[Edit]:
        path = database(self._settings.data_dir)
        if not path.exists():
            return []
        try:
            with Store.open(path, readonly=True) as store:
                return store.edits(stored_id(self._loaded, store), thread)
        except NotFound:
            # The session is not stored, or the database is just being created.
            return []

    def _find_stored_id(self, store: Store) -> str:
        """The session's id in the database; imports it if need be."""
        loaded = self._loaded
        if not self._id and loaded.is_stored:
            self._id = store.resolve(loaded.name)
        elif not self._id:
            price = make_call_pricer(prices_for(self._settings))
            store.import_session(loaded.session, source_info(loaded), price=price)
            self._id = stored_id(loaded, store)
        return self._id


def _file_stamp(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return 0, 0
    return status.st_size, status.st_mtime_ns
