"""Writes down what goes between a client and its provider, in a thread of its own: nobody waits for it.

Whoever passes bytes on calls `put` with what happened; it only queues. The thread looks for what came, unpacks, keeps
keys out, finds the session and writes lines. A piece of an answer that comes by itself is made a line of by `put`,
which is called behind its being passed on: left to the thread, all pieces of some time are done together, and keep
the next one waiting that comes just then. A fault of it is told when the run ends and never reaches a request.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections import deque
from pathlib import Path
from typing import Final

from ctxtui.attach.news import (
    AnswerBytes,
    ExchangeEvent,
    RequestBegun,
    RequestBytes,
    RequestSent,
    SocketMessage,
)
from ctxtui.attach.run import RecordedRun, new_run
from ctxtui.attach.tapes import Tapes
from ctxtui.wire.bounds import MAX_UNWRITTEN

_MOST_TOLD: Final = 10
"""Faults that are told one by one."""
_GATHER: Final = 0.03
"""Seconds for which what comes is gathered before it is written; so much a killed process loses at most."""
_SHORT: Final = 1 << 12
"""Bytes of a piece of an answer up to which `put` makes its line."""
_APART: Final = 0.0005
"""Seconds after the one before it from which a piece of an answer comes by itself: a burst is left to the thread, which
takes a fifth of the time for each of many pieces."""
_LOOKS: Final = 150
"""Looks for something to write, one after the other in vain, after which the thread sleeps until it is told."""


class Recorder:
    """Records a run. `put` may be called from any thread."""

    def __init__(self, run: RecordedRun) -> None:
        self._tapes = Tapes(run)
        self._queue: deque[ExchangeEvent] = deque()
        self._wake = threading.Event()
        self._asleep = False
        """Whether the thread has to be told that something came. It is not each time: to wake a thread takes longer
        than all that is done about a piece of an answer."""
        self._stop = False
        self._in_hand: set[str] = set()
        """Exchanges of which something was taken that waits to be written."""
        self._writing: set[str] = set()
        """Those of which something is being written."""
        self._heard = 0.0
        """When a piece of an answer came last (Unix seconds)."""
        self._reviving = threading.Lock()
        self._came = self._done = 0
        """Bytes that were put, and those of them that have been taken."""
        self._dropped: set[str] = set()
        self._faults: list[str] = []
        self._prefix = run.run
        self._numbers = itertools.count(1)
        self.faults = 0
        """Exchanges that were lost to faults of the recorder."""
        self.closed = False
        """Whether it was told to close."""
        self._begin()

    def _begin(self) -> None:
        self._thread = threading.Thread(target=self._work, name="ctxtui recorder", daemon=True)
        self._thread.start()

    def next_name(self) -> str:
        """A name for an exchange that no other one has."""
        return f"{self._prefix}.{next(self._numbers)}"

    def begin_anew(self) -> None:
        """In a child process after a fork: what waited is the parent's to write; the thread is only there."""
        self._queue.clear()
        self._in_hand, self._writing = set(), set()
        self._wake, self._asleep, self._came, self._done = threading.Event(), False, 0, 0
        self._prefix = new_run()
        self._tapes.begin_anew()
        self._begin()

    def put(self, news: ExchangeEvent) -> None:
        """Something happened. Never raises, never waits."""
        if not self._thread.is_alive():
            self._revive()
        if not isinstance(news, AnswerBytes) or not self._at_once(news):
            size = _size(news)
            if size and self._came - self._done > MAX_UNWRITTEN:
                self._dropped.add(news.x)
                return
            self._came += size
            self._queue.append(news)
        # A head alone is no line yet, and the request has not left.
        if self._asleep and not isinstance(news, RequestBegun):
            self._wake.set()

    def _at_once(self, news: AnswerBytes) -> bool:
        """Make a line of it here, where that takes no longer than to tell the thread; whether it was."""
        hand = self._tapes.hand
        apart, self._heard = news.at - self._heard, news.at
        if apart < _APART or self._queue or len(news.data) > _SHORT or not hand.acquire(blocking=False):
            return False
        try:
            # Something may have come from another thread meanwhile, and the thread takes nothing now.
            found = not self._queue and self._tapes.has_room(news.x)
            if found:
                self._take(news)
            return found
        finally:
            hand.release()

    def _take(self, news: ExchangeEvent) -> None:
        """Make lines of it; by whoever holds the hand."""
        if isinstance(news, RequestBegun) or self._tapes.knows(news.x):
            self._in_hand.add(news.x)
        try:
            self._tapes.take(news)
        except Exception as error:  # noqa: BLE001 - the boundary: a fault here must not reach a request
            self._fault(news.x, error)

    def _revive(self) -> None:
        """The thread is gone, whatever ended it: another one goes on. What the first had in hand is lost, and told."""
        with self._reviving:
            if self._thread.is_alive() or self._stop:
                return
            self._lose(RuntimeError("its thread ended"))
            self._begin()

    def _lose(self, error: Exception) -> None:
        """Nobody knows what became of what was in hand."""
        with self._tapes.hand:
            lost = self._in_hand | self._writing
            self._in_hand, self._writing = set(), set()
            self._tapes.drop()
            for x in lost:
                self._fault(x, error)

    def close(self, seconds: float = 5.0) -> None:
        """Write what waits, for at most so many seconds."""
        self._stop = self.closed = True
        self._wake.set()
        self._thread.join(seconds)
        if self._thread.is_alive():
            self._faults.append(f"{len(self._queue)} entries still waited for the disk when ctxtui ended")

    def flush(self, seconds: float = 5.0) -> bool:
        """Wait until everything that was put is written; whether it was within so many seconds."""
        limit = time.monotonic() + seconds
        # In the order in which it goes from one to the next: it is in none of them only once it is written.
        while self._queue or self._in_hand or self._writing:
            if time.monotonic() > limit:
                return False
            if not self._thread.is_alive():
                self._revive()
            self._wake.set()
            time.sleep(0.002)
        return True

    @property
    def exchanges(self) -> int:
        """Exchanges that were written down so far."""
        return self._tapes.exchanges

    @property
    def files(self) -> list[Path]:
        """The recordings that were written."""
        return self._tapes.files

    @property
    def troubles(self) -> list[str]:
        """What could not be recorded, in words."""
        dropped = (
            [f"{len(self._dropped)} exchanges not recorded: too much waited for the disk"] if self._dropped else []
        )
        more = [f"{self.faults - _MOST_TOLD} more exchanges lost so"] if self.faults > _MOST_TOLD else []
        return [*self._tapes.troubles, *dropped, *self._faults, *more]

    def _work(self) -> None:
        while True:
            self._rest()
            for _ in range(len(self._queue)):
                with self._tapes.hand:
                    news = self._queue[0]
                    self._take(news)
                    # Once it is in hand: who waits for an empty queue waits for what is written.
                    self._queue.popleft()
                self._done += _size(news)
            self._written()
            if not self._waits:
                # Several threads count what they put: nothing that was miscounted stays so.
                self._done = self._came
                if self._stop:
                    break
        self._tapes.close()

    @property
    def _waits(self) -> bool:
        return bool(self._queue or self._in_hand)

    def _rest(self) -> None:
        """Until there is something to write, and more of it has been gathered."""
        looks = 0
        while not self._stop:
            self._asleep = looks > _LOOKS
            if self._asleep and not self._waits:
                self._wake.wait()
                self._wake.clear()
            self._asleep = False
            self._wake.wait(_GATHER)
            self._wake.clear()
            if self._waits:
                break
            looks += 1

    def _written(self) -> None:
        with self._tapes.hand:
            self._writing, self._in_hand = self._in_hand, set()
        try:
            self._tapes.flush()
        except Exception as error:  # noqa: BLE001 - the boundary: a fault here must not reach a request
            self._lose(error)
        self._writing = set()

    def _fault(self, x: str, error: Exception) -> None:
        self._tapes.forget(x)
        self.faults += 1
        if self.faults <= _MOST_TOLD:
            self._faults.append(f"a fault in ctxtui's recorder: {type(error).__name__}: {error}")


def _size(news: ExchangeEvent) -> int:
    """Bytes of what is told, as far as they may be many."""
    if isinstance(news, RequestBytes | AnswerBytes):
        return len(news.data)
    if isinstance(news, SocketMessage):
        return len(news.text)
    return len(news.body or b"") if isinstance(news, RequestSent) else 0
