"""The edits of an open session, thread by thread: staged, applied, undone, and kept in the database.

Everything happens in memory at once; `save` writes what is new and may be called in a worker thread. A session that was
only opened is imported by the first save: reading writes nothing, the first staged edit does.
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
from ctxtui.services.counting.pricing import price_of, prices_for
from ctxtui.services.recordings.identity import source_info, stored_name
from ctxtui.services.recordings.recording import Loaded
from ctxtui.store.store import Store

_Derived = tuple[int, EditsInForce, dict[str, str], tuple[Edit, ...]]
"""What follows from a log: its version, the edits in force, what waits until when, and both kinds in one."""


_ByBlock = dict[str, list[tuple[int, Edit]]]
"""The edits in force by digest and by id of the blocks that they are about, each with its number among them."""


class ThreadEdits:
    """The overlay of a thread, as far as this program knows it.

    `log` are its entries so far.
    """

    def __init__(
        self,
        log: Iterable[Edit] = (),
        *,
        thread: str = MAIN,
        branch: str = "",
        now: Callable[[], float] = time.time,
        new_id: Callable[[], str] = lambda: secrets.token_hex(6),
    ) -> None:
        self.thread = thread
        self.branch = branch
        self._log = list(log)
        self._saved = len(self._log)
        self._earlier = {entry.id for entry in self._log}
        self._artifacts: dict[str, bytes] = {}
        self._now = now
        self._new_id = new_id
        self._lock = threading.Lock()
        self._version = len(self._log)
        self._standing: _Derived | None = None
        self._by_block: tuple[int, _ByBlock] = -1, {}

    @property
    def version(self) -> int:
        """It grows with every change, so that screens know when to paint again."""
        return self._version

    @property
    def log(self) -> Sequence[Edit]:
        """Every entry, in order."""
        return tuple(self._log)

    @property
    def standing(self) -> EditsInForce:
        """The edits in force: `applied` and `staged`."""
        return self._derived[1]

    @property
    def _derived(self) -> _Derived:
        if self._standing is None or self._standing[0] != self._version:
            found = edits_in_force(self._log)
            ids = {edit.id for part in found for edit in part}
            both = tuple(edit for edit in self._log if edit.id in ids)
            self._standing = self._version, found, waiting_until(self._log), both
        return self._standing

    def _staged_more(self, edits: Sequence[Edit]) -> list[Edit]:
        """Append edits that are only staged: what was in force still is, and they are with it."""
        _, found, waits, both = self._derived
        before, (of, known) = self._version, self._by_block
        made = self._append([*edits])
        self._standing = self._version, EditsInForce(found.applied, (*found.staged, *made)), waits, (*both, *made)
        if of == before:
            _enter(known, made, len(both))
            self._by_block = self._version, known
        return made

    def about(self, targets: Iterable[Target]) -> list[Edit]:
        """The edits in force that are about any of these blocks, by their digests or their ids, in order of the log."""
        if self._by_block[0] != self._version:
            self._by_block = self._version, _enter({}, self.in_force, 0)
        known = self._by_block[1]
        names = {name for target in targets for name in (target.digest, target.id) if name}
        found = {number: edit for name in names for number, edit in known.get(name, ())}
        return [found[number] for number in sorted(found)]

    @property
    def waiting(self) -> Mapping[str, str]:
        """The staged edits that wait, by id: until when (`core.edit_log`)."""
        return self._derived[2]

    @property
    def ready(self) -> tuple[Edit, ...]:
        """The staged edits that wait for nothing but to be applied."""
        return tuple(edit for edit in self.staged if edit.id not in self.waiting)

    @property
    def staged(self) -> tuple[Edit, ...]:
        """Edits that wait to be applied: drafts, kept when ctxtui is closed."""
        return self.standing.staged

    @property
    def applied(self) -> tuple[Edit, ...]:
        """Edits under which the next request leaves."""
        return self.standing.applied

    @property
    def in_force(self) -> tuple[Edit, ...]:
        """Staged and applied together, in order of the log: what is shown and priced."""
        return self._derived[3]

    @property
    def unsaved(self) -> bool:
        """Whether `save` has anything to write."""
        return self._saved < len(self._log) or bool(self._artifacts)

    def stands(self, edit: Edit) -> bool:
        """Whether an edit like it is in force already, and none of its kind came after it: it would change nothing.
        What puts something in may be put in twice."""
        if edit.spec.adds:
            return False
        near = self.about(edit.targets) if edit.targets else self.in_force
        same = (one for one in reversed(near) if (one.kind, one.targets) == (edit.kind, edit.targets))
        last = next(same, None)
        return last is not None and last.payload == edit.payload

    def stage_all(self, edits: Iterable[Edit]) -> list[Edit]:
        """Stage several edits as one action, which one undo takes back; what stands already is left out. Each gets its
        time and batch, and an id of its own unless it is a policy's (whose name says what it does, so that a reverted
        one stays reverted)."""
        stamp = self._stamp()
        made = []
        for n, e in enumerate([edit for edit in edits if not self.stands(edit)]):
            id_ = f"{stamp.id}.{n}" if e.author == USER else e.id
            made.append(Edit(id_, e.kind, e.targets, author=e.author, at=stamp.at, payload=e.payload, batch=stamp.id))
        known = {entry.id for entry in self._log}
        return self._staged_more([edit for edit in made if edit.id not in known])

    def apply(self, only: Iterable[str] | None = None) -> list[Edit]:
        """Apply what is staged, everything or `only` these ids; the entries that were made (none where nothing was)."""
        return self._append(apply_staged(self._log, self._stamp(), only))

    def wait(self, until: str, only: Iterable[str] | None = None) -> list[Edit]:
        """Let what is staged, everything or `only` these ids, wait until `edit_log.EXPIRY` or `edit_log.MISS`, ""
        for no longer; the entries made."""
        return self._append(postpone_staged(self._log, until, self._stamp(), only))

    def leave(self, command: str, place: str, without: Sequence[str] = (), folder: str = "") -> list[Edit]:
        """Remember that the context left; see `edit_log.leaving`."""
        return self._append(record_export(self._stamp(), command, place, without, folder))

    def discard(self) -> list[Edit]:
        """Take back what is staged; undo brings it back."""
        return self._append(discard_staged(self._log, self._stamp()))

    def revert(self, ids: Iterable[str], *, author: str = USER) -> list[Edit]:
        """Take back single entries of the log, staged or applied."""
        return self._append(revert_entries(self._log, ids, Stamp(self._new_id(), self._now(), author)))

    def take(self, stored: Iterable[Edit]) -> list[Edit]:
        """Take in the entries that another program has `stored` meanwhile; those that were not known. Nothing while
        entries of ours are being saved."""
        if not self._lock.acquire(blocking=False):
            return []
        try:
            known = {entry.id for entry in self._log}
            new = [entry for entry in stored if entry.id not in known]
            # They stand where the database has them: before what is not there yet.
            self._log[self._saved : self._saved] = new
            self._saved += len(new)
            self._earlier |= {entry.id for entry in new}
            self._version += len(new)
            return new
        finally:
            self._lock.release()

    def withdraw(self, made: Sequence[Edit]) -> None:
        """Take back what was staged last as if it had never been: it is refused. What is being saved, or was, is
        reverted instead."""
        count = len(made)
        if not count:
            return
        # A save may take long where it has to import the session: it is not waited for.
        free = self._lock.acquire(blocking=False)
        try:
            if free and len(self._log) - self._saved >= count and self._log[-count:] == list(made):
                del self._log[-count:]
                self._version += 1
                return
        finally:
            if free:
                self._lock.release()
        self.revert(edit.id for edit in made)

    def undo(self) -> list[Edit]:
        """Undo the last action, also one of an earlier run of the program."""
        return self._append(undo_last(self._log, self._stamp()))

    @property
    def last_done(self) -> Sequence[Edit]:
        """The entries of the action that `undo` would take back; none where there is none."""
        return last_action(self._log)

    @property
    def last_undone(self) -> Sequence[Edit]:
        """The entries of the action that `redo` would bring back; none where there is none."""
        return last_undone_action(self._log)

    def is_earlier(self, entries: Sequence[Edit]) -> bool:
        """Whether all of `entries` were made by another run of the program, before or meanwhile."""
        return bool(entries) and all(entry.id in self._earlier for entry in entries)

    def redo(self) -> list[Edit]:
        """Bring back what was undone last."""
        return self._append(redo_last(self._log, self._stamp()))

    def keep(self, name: str, data: bytes) -> None:
        """Keep an artifact with the session: the content that an ``externalize`` edit takes out."""
        self._artifacts[name] = data

    def fork(self, branch: str) -> ThreadEdits:
        """A copy of this log under another name, to go on with apart; nothing of it is saved yet."""
        other = ThreadEdits((), thread=self.thread, branch=branch, now=self._now, new_id=self._new_id)
        other._log, other._version = list(self._log), len(self._log)
        return other

    def save(self, store: Store, session: Callable[[Store], str]) -> None:
        """Write what is new to `store`. `session` gives the session's id there, importing it if need be."""
        with self._lock:
            entries, kept = self._log[self._saved :], dict(self._artifacts)
            if not entries and not kept:
                return
            id_ = session(store)
            store.add_edits(id_, entries, thread=self.thread, branch=self.branch)
            for name, data in kept.items():
                store.put_artifact(id_, name, data)
                if self._artifacts.get(name) is data:
                    del self._artifacts[name]
            self._saved += len(entries)

    def _stamp(self) -> Stamp:
        return Stamp(self._new_id(), self._now())

    def _append(self, entries: list[Edit]) -> list[Edit]:
        self._log += entries
        self._version += len(entries)
        return entries


def _enter(known: _ByBlock, edits: Iterable[Edit], first: int) -> _ByBlock:
    """Enter `edits`, of which the first is number `first` of those in force."""
    for number, edit in enumerate(edits, first):
        for name in {name for target in edit.targets for name in (target.digest, target.id) if name}:
            known.setdefault(name, []).append((number, edit))
    return known


class SessionEdits:
    """The edits of every thread of the session that `loaded` reads.

    A session that was only opened is imported by the first `save` that has something to write (reading writes nothing).
    """

    def __init__(self, loaded: Loaded, settings: Settings) -> None:
        self._loaded = loaded
        self._settings = settings
        self._known: dict[str, ThreadEdits] = {}
        self._lock = threading.Lock()
        self._id = ""
        self._stamps: tuple[tuple[int, int], ...] = ()

    def of(self, thread: str) -> ThreadEdits:
        """The overlay of `thread`. Raises `CtxtuiError` where the database cannot be read."""
        with self._lock:
            found = self._known.get(thread)
            if found is None:
                found = self._known[thread] = ThreadEdits(self._read(thread), thread=thread)
            return found

    @property
    def unsaved(self) -> bool:
        """Whether `save` has anything to write."""
        return any(overlay.unsaved for overlay in self._known.values())

    def save(self) -> None:
        """Write what is new, for a worker thread. Raises `CtxtuiError`; what could not be written stays unsaved."""
        if not self.unsaved:
            return
        with Store.open(database(self._settings.data_dir)) as store:
            for overlay in list(self._known.values()):
                overlay.save(store, self._stored)

    def moved(self) -> bool:
        """Whether the database has changed since this was last asked: another program may have staged something."""
        path = database(self._settings.data_dir)
        before = self._stamps
        self._stamps = tuple(_stamp(Path(f"{path}{end}")) for end in ("", "-wal"))
        return self._stamps != before

    def stored(self) -> dict[str, list[Edit]]:
        """The stored logs of the threads that were asked for; for a worker thread. Raises `CtxtuiError`."""
        return {thread: self._read(thread) for thread in list(self._known)}

    def take(self, stored: Mapping[str, Iterable[Edit]]) -> list[Edit]:
        """Take in what `stored` gave; the entries that were new."""
        return [entry for thread, log in stored.items() for entry in self.of(thread).take(log)]

    def _read(self, thread: str) -> list[Edit]:
        path = database(self._settings.data_dir)
        if not path.exists():
            return []
        try:
            with Store.open(path, readonly=True) as store:
                return store.edits(self._name, thread)
        except NotFound:
            # Nothing of the session is stored, or the database is only just being made.
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
            price = price_of(prices_for(self._settings))
            self._id = store.import_session(loaded.session, source_info(loaded), price=price)
        return self._id


def _stamp(path: Path) -> tuple[int, int]:
    try:
        there = path.stat()
    except OSError:
        return 0, 0
    return there.st_size, there.st_mtime_ns
