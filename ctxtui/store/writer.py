"""The writer: one thread with one connection that everything live goes through (design §10).

`put` costs its caller a few microseconds. What was put is in the file at most `EVERY` seconds later; `acked` says up to
which ticket. Where the file cannot be written, everything waits in memory, `trouble` says why, and the writer tries
again: nothing is dropped while the program runs.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from itertools import groupby, islice
from pathlib import Path
from typing import Final, NamedTuple, cast

from ctxtui.core.call import Call
from ctxtui.core.errors import CtxtuiError
from ctxtui.core.session import MAIN, Described, Happened, Session, ThreadSeen
from ctxtui.core.tree import Tree
from ctxtui.store import leases
from ctxtui.store.block_codec import Packer
from ctxtui.store.errors import explained
from ctxtui.store.host_process import HostProcess, ended, hosting
from ctxtui.store.rows import Price, SourceInfo
from ctxtui.store.schema.connect import connect
from ctxtui.store.schema.database_file import writing
from ctxtui.store.sessions.listing import find
from ctxtui.store.sessions.write import Appender, write_session

EVERY: Final = 0.03
"""Seconds for which events are gathered before they are committed together."""
MUCH: Final = 4096
"""So much that waits is committed without waiting for more."""
_AGAIN: Final = 1.0
"""Seconds between attempts to write to a file that refuses."""
BEAT: Final = 10.0
"""Seconds between two heartbeats of the host."""


class SessionBegun(NamedTuple):
    """A session that is new to the store, with what it holds already; `session` must not change afterwards."""

    session: Session


class SessionResumed(NamedTuple):
    """A stored session goes on."""

    id: str


class InFlight(NamedTuple):
    """Something that happens within `call` of `thread`, at Unix time `at`: its `kind` and what it says (text, or raw
    bytes)."""

    call: str
    at: float
    kind: str
    data: str | bytes
    thread: str = MAIN


class Ended(NamedTuple):
    """A call ended; the record of its thread now ends at the context `tip`. It holds what this host had in flight in
    the thread; where a `left` is named, all that the host with that token left there, who is gone."""

    call: Call
    tip: int
    left: str | None = None


class TakenUp(NamedTuple):
    """What a host that is gone left in flight goes on here; `left` is its token."""

    left: str


Work = SessionBegun | SessionResumed | InFlight | Ended | TakenUp | Described | ThreadSeen | Happened
Connect = Callable[[Path], sqlite3.Connection]


def _unpriced(call: Call) -> None:
    return None


class Writer:
    """Writes one live session, whose contexts are in `tree`, to the database `path`, and keeps the lease of its `host`
    (None: this process hosts from now on) until it is closed.

    `changed` is called in the writer's thread when `trouble` came or went.
    """

    def __init__(
        self,
        path: Path,
        tree: Tree,
        *,
        price: Price = _unpriced,
        changed: Callable[[], object] = lambda: None,
        open_: Connect = connect,
        host: HostProcess | None = None,
    ) -> None:
        self.path = path
        self.host = host or hosting(time.time())
        """The host of the session."""
        self.trouble: CtxtuiError | None = None
        """Why nothing can be written now."""
        self.acked = 0
        """Everything up to this ticket is in the file."""
        self.id = ""
        """The session's id in the store, once it is there."""
        self._tree = tree
        self._price = price
        self._changed = changed
        self._open = open_
        self._waiting: deque[Work] = deque()
        self._last = 0
        self._wake = threading.Event()
        self._much = threading.Event()
        """Whether there is a reason to gather no more."""
        self._idle = True
        self._stop = False
        self._done = threading.Condition()
        self._conn: sqlite3.Connection | None = None
        self._packer: Packer | None = None
        self._appender: Appender | None = None
        self._beaten = 0.0
        self._thread = threading.Thread(target=self._run, name="store writer", daemon=True)
        self._thread.start()

    def put(self, work: Work) -> int:
        """Hand over `work`; returns its ticket. From one thread only."""
        self._waiting.append(work)
        self._last += 1
        if self._idle:
            self._wake.set()
        if len(self._waiting) == MUCH:
            self._much.set()
        return self._last

    @property
    def last_ticket(self) -> int:
        """The ticket of what was put last."""
        return self._last

    @property
    def pending(self) -> int:
        """How much was put and is not in the file yet."""
        return self._last - self.acked

    def wait(self, timeout: float, ticket: int | None = None) -> bool:
        """Wait at most `timeout` seconds until everything up to `ticket` (all so far) is in the file; whether it is.
        Nothing more is gathered meanwhile."""
        wanted = self._last if ticket is None else ticket
        if self.acked < wanted:
            self._much.set()
        with self._done:
            return self._done.wait_for(lambda: self.acked >= wanted, timeout)

    def close(self, timeout: float = 5.0) -> bool:
        """Write what is left and end the thread; whether everything got into the file in time."""
        self._stop = True
        self._much.set()
        self._wake.set()
        self._thread.join(timeout)
        ended(self.host)
        return self.acked == self._last

    # The thread

    def _run(self) -> None:
        while True:
            self._idle = not self._waiting
            if self._idle and not self._waiting:
                if self._stop:
                    break
                if not self._wake.wait(BEAT):
                    self._beat()
                    continue
            self._wake.clear()
            self._idle = False
            if not self._stop and len(self._waiting) < MUCH:
                self._much.wait(EVERY)
                self._much.clear()
            if not self._attempt() and self._refused():
                break
        self._end()

    def _beat(self) -> None:
        """The heartbeat of a host that has nothing to write."""
        if self._conn is None or not self.id:
            return
        try:
            with writing(self._conn):
                self._keep(self._conn)
        except (sqlite3.Error, OSError):
            # Nothing waits to be written, so nothing is off the record: whoever writes next says what is wrong.
            self._disconnect()

    def _keep(self, conn: sqlite3.Connection) -> None:
        leases.keep(conn, self.id, self.host)
        self._beaten = time.monotonic()

    def _end(self) -> None:
        """After the last commit: nobody is hosted here any more."""
        ended(self.host)
        try:
            if self._conn is not None:
                with writing(self._conn):
                    leases.leave(self._conn, self.host)
        except sqlite3.Error:
            pass  # it binds nobody: this process says that the host has ended, and in time is gone
        self._disconnect()

    def _refused(self) -> bool:
        """After a failed attempt: wait a little, or give up because the program ends."""
        if self._stop:
            return True
        self._wake.wait(_AGAIN)
        return False

    def _attempt(self) -> bool:
        """Write what waits now in one transaction; whether it is in the file."""
        many = len(self._waiting)
        try:
            with explained(self.path):
                self._write(many)
        except Exception as error:  # noqa: BLE001 - the thread's boundary: said, kept, tried again; never silent
            self._disconnect()
            ours = CtxtuiError(f"{type(error).__name__}: {error}", place=str(self.path))
            self._say(error if isinstance(error, CtxtuiError) else ours)
            return False
        for _ in range(many):
            self._waiting.popleft()
        # Before it is acknowledged: who waited for that finds no trouble that is over.
        self._say(None)
        with self._done:
            self.acked += many
            self._done.notify_all()
        return True

    def _write(self, many: int) -> None:
        if self._conn is None:
            self._conn = self._open(self.path)
        conn = self._conn
        # Only this thread takes from the queue: the first `many` stay what they are.
        batch = list(islice(self._waiting, many))
        for work in batch:
            self._attach(conn, work)
        packer = self._packer = self._packer or Packer(conn)
        with writing(conn):
            if self._appender is None:
                self._appender = Appender(conn, find(conn, self.id)[0], self._tree, packer, self.host.token)
                self._keep(conn)
            elif time.monotonic() - self._beaten > BEAT:
                self._keep(conn)
            for kind, together in groupby(batch, type):
                if kind is InFlight:
                    self._appender.events(cast(Iterator[InFlight], together))
                    continue
                for work in together:
                    _append(self._appender, work, self._price)

    def _attach(self, conn: sqlite3.Connection, work: Work) -> None:
        """Find or make the session's rows; doing it twice is doing it once."""
        if isinstance(work, SessionResumed):
            self.id = work.id
        elif isinstance(work, SessionBegun) and not self.id:
            source = SourceInfo(format="ctxtui")
            with writing(conn):
                # Before there is anything that another one could open.
                leases.keep(conn, work.session.about.id, self.host)
            now, begun = time.time(), work.session
            self.id = write_session(conn, begun, source, price=self._price, progress=None, now=now, host=self.host)

    def _disconnect(self) -> None:
        conn, self._conn, self._packer, self._appender = self._conn, None, None, None
        if conn is not None:
            conn.close()

    def _say(self, trouble: CtxtuiError | None) -> None:
        if str(trouble) != str(self.trouble):
            self.trouble = trouble
            self._changed()


def _append(to: Appender, work: Work, price: Price) -> None:
    match work:
        case Ended(call, tip, left):
            to.call(call, tip, price(call), left)
        case TakenUp(left):
            to.take_up(left)
        case Described():
            to.described(work)
        case ThreadSeen():
            to.thread(work)
        case Happened():
            to.happened(work)
