"""What happens behind the Inspector: opening, counting and following in worker threads, which only post messages."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from textual.message import Message

from ctxtui.core.errors import CtxtuiError
from ctxtui.core.session import Session
from ctxtui.services.session_source import SessionSource

if TYPE_CHECKING:
    from ctxtui.services.recordings.recording import Loaded, RecordingNews
    from ctxtui.services.study.study import Study
    from ctxtui.services.study.thread_study import RecordingEnd
    from ctxtui.services.workers.session_report import Report


LEAST: Final = 0.2
"""Seconds between two rounds of work at least, as long as the session grows ..."""
TIMES: Final = 12
"""... and times as long as a round took: work takes a thirteenth of a processor ..."""
MOST: Final = 4.0
"""... but for sessions so long that figures would be older than so many seconds."""
QUIET: Final = 0.25
"""Seconds without growth after which what came is worked out, whatever the last round took."""


T = TypeVar("T")


class Pace:
    """Says how long a worker has to wait until its next round. `clock` gives monotonic seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._due = 0.0
        self._rested = 0.0
        self.asked = True
        """Whether the user waits for something; so it is until a first round of the grown session is over."""

    def grew(self) -> None:
        """There is more of the session."""
        self._rested = self._clock() + QUIET

    def worked(self, seconds: float) -> None:
        """A round is over, and took so many seconds of a processor."""
        self.asked = False
        self._due = self._clock() + min(MOST, max(LEAST, TIMES * seconds))

    def ask(self) -> None:
        """The user waits for what there is to do."""
        self._due, self.asked = 0.0, True

    def left(self) -> float:
        """Seconds until the next round may begin."""
        return max(0.0, min(self._due, self._rested) - self._clock())


class KeptReports:
    """The reports that `source` gave, each with how far the recording was read then."""

    def __init__(self, source: SessionSource) -> None:
        self._source = source
        self._kept: dict[str, tuple[object, Any]] = {}

    def of(self, kind: Report[T], loaded: Loaded) -> T:
        """The report of a kind; takes its time where it is not known, or there is more to report on."""
        read = id(loaded.session), loaded.bytes_read, len(loaded.session.calls)
        name = f"{kind.name} {kind.about}"
        kept = self._kept.get(name)
        if kept is None or kept[0] != read:
            kept = self._kept[name] = read, self._source.report(kind, loaded)
        return cast("T", kept[1])


TELL: Final = 0.1
"""Seconds between two posts about figures: often enough to see them come."""
_PATIENCE: Final = 0.03
"""Seconds for which a slice of the first reading waits until the one before is on screen."""

_PAUSE: Final = 0.01
"""Seconds between two slices of work that nothing waits for."""
_KEY: Final = 0.25
"""Seconds for which work waits at most until a key is answered."""

_MANY: Final = 10_000
"""Nodes from which on the collector is spared what a session is made of: looking through it takes a sixth of the
processor, up to a fifth of a second at a time."""


class Glimpsed(Message):
    """The end of a long recording, before the recording itself is read."""

    def __init__(self, end: RecordingEnd) -> None:
        super().__init__()
        self.end = end


class Began(Message):
    """The recording is open; nothing of it is read yet."""

    def __init__(self, loaded: Loaded) -> None:
        super().__init__()
        self.loaded = loaded


class Brought(Message):
    """A part of the recording was read and waits to be taken."""

    def __init__(self, news: RecordingNews) -> None:
        super().__init__()
        self.news = news


class Complete(Message):
    """The first reading is done."""


class Worked(Message):
    """More figures are known; with `done` all there is."""

    def __init__(self, done: bool = False) -> None:
        super().__init__()
        self.done = done


class Read(Message):
    """A large block that was wanted is read."""


class Failed(Message):
    """Opening or reading ended in an error."""

    def __init__(self, error: CtxtuiError) -> None:
        super().__init__()
        self.error = error


Post = Callable[[Message], object]


class SessionLoader:
    """The threads of one Inspector. The screen calls `taken` for everything it took, `work` when there may be more to
    work out, `hold` and `go_on` around the answer to a key; `stop` ends all."""

    def __init__(self, source: SessionSource, post: Post) -> None:
        self.reports = KeptReports(source)
        self._source = source
        self._post = post
        self._stop = threading.Event()
        self._more = threading.Event()
        self._woken = threading.Event()
        self._pace = Pace()
        self._told = 0.0
        """When figures were posted last that are not all there is."""
        self._taken = threading.Event()
        self._answered = threading.Event()
        self._held_until = 0.0
        self._study: Study | None = None
        self._read_whole = self._worked_out = False
        """Whether nothing was left to read, and then to work out: what is made after that may be garbage soon."""
        self._frozen = False
        self._wanted: SimpleQueue[Callable[[], None]] = SimpleQueue()

    def read(self) -> None:
        """Open and read to the end, then follow; for a worker thread."""
        try:
            if (end := self._source.read_end()) is not None:
                self._post(Glimpsed(end))
                self._taken.wait(_PATIENCE * 10)
            loaded, pieces = self._source.open()
            self._post(Began(loaded))
            for news in pieces:
                if self._stop.is_set():
                    return
                self._taken.clear()
                self._post(Brought(news))
                self._taken.wait(_PATIENCE)
                self.wait_for_keys()
                self._spare(loaded.session)
            loaded.check()
        except CtxtuiError as error:
            self._post(Failed(error))
            return
        self._read_whole = True
        self._post(Complete())
        # Imported here: nothing is followed before it is read.
        from ctxtui.services.recordings.follow import Follower, run_follower

        follower = Follower()
        follower.watch(loaded)
        run_follower(follower, self._heard, self._stop)

    def _heard(self, heard: object) -> None:
        from ctxtui.services.recordings.follow import FollowedNews

        assert isinstance(heard, FollowedNews)
        if self._study is not None and heard.news.session is None and not self._stop.is_set():
            self._study.prefetch_new()
        self._post(Failed(heard.error) if heard.error is not None else Brought(heard.news))

    def hold(self) -> None:
        """A key came: threads take turns, so that what works between its coming and its frame doubles the time of both.
        Not every key has a frame: the halt ends by itself."""
        self._answered.clear()
        self._held_until = time.monotonic() + _KEY

    def go_on(self) -> None:
        """The key is answered: its frame is on the screen."""
        self._held_until = 0.0
        self._answered.set()

    def wait_for_keys(self) -> None:
        """In a worker, between two slices: wait until the key that came is answered."""
        left = self._held_until - time.monotonic()
        if left > 0:
            self._answered.wait(left)

    def taken(self) -> None:
        """What was posted last is on the screen."""
        self._taken.set()

    def work_on(self, study: Study) -> None:
        """Work out the figures of `study` from now on."""
        self._study = study
        self._more.set()

    def work(self) -> None:
        """There may be more to work out: at once where a key waits for it."""
        if time.monotonic() < self._held_until:
            self._pace.ask()
        self._more.set()
        self._woken.set()

    def grew(self, *, counted: bool) -> None:
        """The session has more; where that is `counted` already, all else may come a moment later."""
        self._pace.grew()
        self._more.set()
        if not counted:
            self._woken.set()

    def want(self, load: Callable[[], None]) -> None:
        """Let the worker do `load`, which reads a large block, before anything else."""
        self._wanted.put(load)
        if time.monotonic() < self._held_until:
            self._pace.ask()
        self._more.set()
        if self._pace.left() <= 0:
            # Who rests while the session grows wakes up by itself, and would only rest on.
            self._woken.set()

    def _fetch(self) -> bool:
        # What is wanted meanwhile comes after what was: a session that grows never ends to want.
        count = self._wanted.qsize()
        for _ in range(count):
            self._wanted.get()()
        if count:
            self._post(Read())
        return count > 0

    def figure(self) -> None:
        """Work things out whenever there is something; for a worker thread."""
        finished: Study | None = None
        while not self._stop.is_set():
            self._wait()
            begun = time.thread_time()
            found = self._worked()
            if self._stop.is_set():
                return
            if found or finished is not self._study:
                finished = self._study
                self._post(Worked(done=True))
                self._source.save_counts()
                if finished is not None:
                    if self._worked_out:
                        self._pace.worked(time.thread_time() - begun)
                    self._worked_out = self._read_whole
            # Else an edit asked whether there is more to count: nothing is shown a second time.
            self._rest()

    def _wait(self) -> None:
        """Wait until there is something to do, and while the session grows until it may be done; calls that come
        meanwhile are counted."""
        self._more.wait()
        while not self._stop.is_set() and (left := self._pace.left()) > 0:
            self._woken.clear()
            if self._study is not None and self._study.count_pending():
                self._tell()
            self._woken.wait(left)
        self._more.clear()

    def _tell(self) -> None:
        """Post that more figures are known, unless that was done a moment ago."""
        if time.monotonic() - self._told > TELL:
            self._told = time.monotonic()
            self._post(Worked())

    def _worked(self) -> bool:
        """Work out what the screen waits for; whether there was anything."""
        found = False
        if self._worked_out:
            # What came is shown already: its figures are posted together.
            self._told = time.monotonic()
        while not self._stop.is_set() and (
            ((not found or self._pace.asked) and self._fetch()) or (self._study is not None and self._study.work())
        ):
            # What is wanted from now on because the session grows is of the next round.
            found = True
            self.wait_for_keys()
            self._tell()
            if self._study is not None:
                self._spare(self._study.session)
        return found

    def _spare(self, session: Session) -> None:
        """What there is by now lives as long as the session: the collector need not look through it."""
        if not self._worked_out and len(session.tree) >= _MANY:
            gc.freeze()
            self._frozen = True

    def _rest(self) -> None:
        """Work out what nothing waits for, with pauses: keys come first."""
        rested = False
        while (
            not self._stop.is_set() and not self._more.is_set() and self._study is not None and self._study.work_idle()
        ):
            rested = True
            self.wait_for_keys()
            self._more.wait(_PAUSE)
        if rested and not self._stop.is_set():
            self._post(Worked(done=True))

    def stop(self) -> None:
        """End both threads."""
        self._stop.set()
        self.go_on()
        self._more.set()
        self._woken.set()
        self._source.close()
        if self._frozen:
            gc.unfreeze()
