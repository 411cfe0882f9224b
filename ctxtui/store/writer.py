"""The writer: a thread with a connection of its own through which a live session is written.

Work is gathered for at most `GATHER_S` seconds, then committed. If the file cannot be written, everything waits in
memory, and the writer tries again until it is closed.
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
from ctxtui.store.errors import explain_errors
from ctxtui.store.host_process import HostProcess, begin_hosting, end_hosting
from ctxtui.store.rows import Price, SourceInfo, unpriced
from ctxtui.store.schema.connect import connect
from ctxtui.store.schema.database_file import writing
from ctxtui.store.sessions.listing import find
from ctxtui.store.sessions.write import Appender, write_session

GATHER_S: Final = 0.03
"""Seconds for which work is gathered before it is committed together."""
MAX_GATHERED: Final = 4096
"""Pending items at which a commit starts without waiting for more."""
_RETRY_S: Final = 1.0
"""Seconds between attempts to write to a file that refuses."""
HEARTBEAT_S: Final = 10.0
"""Seconds after which the host's heartbeat is written again, with the next work or alone.

A heartbeat that fails is tried again after as many seconds. See `host_process.MAX_SILENCE_S`.
"""


class SessionBegun(NamedTuple):
    """A session new to the store, with its content so far, which must not change afterwards."""

    session: Session


class SessionResumed(NamedTuple):
    """A session that is stored already and is continued."""

    id: str


class InFlight(NamedTuple):
    """An event of a `kind` within the unfinished `call` of `thread` at Unix time `at`."""

    call: str
    at: float
    kind: str
    data: str | bytes
    thread: str = MAIN


class StoredCall(NamedTuple):
    """A finished call; the record of its thread now ends at the context `tip`.

    It replaces the thread's pending events of this host, or of the dead host with the token `left`.
    """

    call: Call
    tip: int
    left: str | None = None


class TakenOver(NamedTuple):
    """The pending events of a dead host with the token `left` are now this host's."""

    left: str


Work = SessionBegun | SessionResumed | InFlight | StoredCall | TakenOver | Described | ThreadSeen | Happened
Connect = Callable[[Path], sqlite3.Connection]


class Writer:
    """Writes one live session, with contexts in `tree`, to the database `path`.

    It keeps the lease of its `host` (None: a new one for this process). `changed` is called in the writer's thread when
    `trouble` changed.
    """

    def __init__(
        self,
        path: Path,
        tree: Tree,
        *,
        price: Price = unpriced,
        changed: Callable[[], object] = lambda: None,
        open_: Connect = connect,
        host: HostProcess | None = None,
    ) -> None:
        self.path = path
        self.host = host or begin_hosting(time.time())
        self.trouble: CtxtuiError | None = None
        """The reason why nothing can be written now; None while writing succeeds."""
        self.acked = 0
        """The last ticket that is in the file."""
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
        """Set when there is a reason to commit at once."""
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
        """Queue `work`; returns its ticket, a rising number. Must be called from one thread only."""
        self._waiting.append(work)
        self._last += 1
        if self._idle:
            self._wake.set()
        if len(self._waiting) == MAX_GATHERED:
            self._much.set()
        return self._last

    @property
    def last_ticket(self) -> int:
        return self._last

    @property
    def pending(self) -> int:
        """Number of items that are not known to be in the file yet."""
        return self._last - self.acked

    def wait(self, timeout: float, ticket: int | None = None) -> bool:
        """Wait at most `timeout` seconds until `ticket` (None: the last one) is in the file.

        Returns whether it is. The writer commits at once instead of gathering.
        """
        target = self._last if ticket is None else ticket
        if self.acked < target:
            self._much.set()
        with self._done:
            return self._done.wait_for(lambda: self.acked >= target, timeout)

    def close(self, timeout: float = 5.0) -> bool:
        """Write the rest and end the thread; returns whether everything was written in time."""
        self._stop = True
        self._much.set()
        self._wake.set()
        self._thread.join(timeout)
        end_hosting(self.host)
        return self.acked == self._last

    # The thread

    def _run(self) -> None:
        while True:
            # Set before the second look at the queue, so that `put` wakes this thread for whatever that misses.
            self._idle = not self._waiting
            if self._idle and not self._waiting:
                if self._stop:
                    break
                if not self._wake.wait(HEARTBEAT_S):
                    self._write_due_heartbeat()
                    continue
            self._wake.clear()
            self._idle = False
            if not self._stop and len(self._waiting) < MAX_GATHERED:
                self._much.wait(GATHER_S)
                self._much.clear()
            if not self._attempt() and self._wait_or_give_up():
                break
        self._end()

    def _write_due_heartbeat(self) -> None:
        """Keep the lease of a host that writes nothing; after a failure with a new connection."""
        if not self.id:
            return
        try:
            conn = self._connect()
            with writing(conn):
                self._write_heartbeat(conn)
        except (sqlite3.Error, OSError, CtxtuiError):
            # Nothing is unrecorded, as nothing waits to be written: the next write reports the error.
            self._disconnect()

    def _write_heartbeat(self, conn: sqlite3.Connection) -> None:
        leases.write_heartbeat(conn, self.id, self.host)
        self._beaten = time.monotonic()

    def _end(self) -> None:
        """Remove the lease after the last commit or attempt.

        If that is impossible, other processes see a host of the session until this process ends.
        """
        end_hosting(self.host)
        try:
            if self._last and self.path.exists():
                conn = self._connect()
                with writing(conn):
                    leases.remove_lease(conn, self.host)
        except (sqlite3.Error, OSError, CtxtuiError):
            pass  # the reason is in `trouble`, if anything else was to be written
        self._disconnect()

    def _wait_or_give_up(self) -> bool:
        if self._stop:
            return True
        self._wake.wait(_RETRY_S)
        return False

    def _attempt(self) -> bool:
        many = len(self._waiting)
        try:
            with explain_errors(self.path):
                self._write(many)
        except Exception as error:  # noqa: BLE001 - the thread's boundary: said, kept, tried again; never silent
            self._disconnect()
            ours = CtxtuiError(f"{type(error).__name__}: {error}", place=str(self.path))
            self._set_trouble(error if isinstance(error, CtxtuiError) else ours)
            return False
        for _ in range(many):
            self._waiting.popleft()
        # Before the acknowledgement, so that callers of `wait` see no outdated trouble.
        self._set_trouble(None)
        with self._done:
            self.acked += many
            self._done.notify_all()
        return True

    def _write(self, many: int) -> None:
        """Write the first `many` items in one transaction.

        The rows of a new session are written in a transaction before it.
        """
        conn = self._connect()
        # Only this thread removes from the queue: the first `many` stay the same.
        batch = list(islice(self._waiting, many))
        for work in batch:
            self._prepare_session(conn, work)
        packer = self._packer = self._packer or Packer(conn)
        with writing(conn):
            if self._appender is None:
                self._appender = Appender(conn, find(conn, self.id)[0], self._tree, packer, self.host.token)
                self._write_heartbeat(conn)
            elif time.monotonic() - self._beaten > HEARTBEAT_S:
                self._write_heartbeat(conn)
            for kind, together in groupby(batch, type):
                if kind is InFlight:
                    self._appender.add_events(cast(Iterator[InFlight], together))
                    continue
                for work in together:
                    _append(self._appender, work, self._price)

    def _prepare_session(self, conn: sqlite3.Connection, work: Work) -> None:
        if isinstance(work, SessionResumed):
            self.id = work.id
        elif isinstance(work, SessionBegun) and not self.id:
            source = SourceInfo(format="ctxtui")
            with writing(conn):
                # The lease is written before the session exists, so that no other process can open it.
                leases.write_heartbeat(conn, work.session.about.id, self.host)
            now, begun = time.time(), work.session
            self.id = write_session(conn, begun, source, price=self._price, progress=None, now=now, host=self.host)

    def _connect(self) -> sqlite3.Connection:
        if self._conn is None:
            self._conn = self._open(self.path)
        return self._conn

    def _disconnect(self) -> None:
        conn, self._conn, self._packer, self._appender = self._conn, None, None, None
        if conn is not None:
            conn.close()

    def _set_trouble(self, trouble: CtxtuiError | None) -> None:
        if str(trouble) != str(self.trouble):
            self.trouble = trouble
            self._changed()


def _append(to: Appender, work: Work, price: Price) -> None:
    match work:
        case StoredCall(call, tip, left):
            to.add_call(call, tip, price(call), left)
        case TakenOver(left):
            to.take_over(left)
        case Described():
            to.update_metadata(work)
        case ThreadSeen():
            to.put_thread(work)
        case Happened():
            to.add_happening(work)
