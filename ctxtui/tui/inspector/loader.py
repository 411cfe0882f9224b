"""Background threads of the inspector that open, count and follow a session."""

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
    from ctxtui.services.recordings.follow import FollowedNews
    from ctxtui.services.recordings.recording import Loaded, RecordingNews
    from ctxtui.services.study.study import Study
    from ctxtui.services.study.thread_study import RecordingEnd
    from ctxtui.services.workers.session_report import Report


MIN_PAUSE_SECONDS: Final = 0.2
"""Minimum pause after a round of work while the session grows ..."""
PAUSE_FACTOR: Final = 12
"""... but at least 12 times as long as the round took, so that work uses 1/13 of a processor ..."""
MAX_PAUSE_SECONDS: Final = 4.0
"""... and at most this long."""
QUIET_SECONDS: Final = 0.25
"""Seconds without growth after which the next round starts in any case."""


T = TypeVar("T")


class Pace:
    """Decides when the next round of work may begin while a session grows.

    The pauses are `MIN_PAUSE_SECONDS` and the constants below it.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._due = 0.0
        self._quiet_end = 0.0
        self.is_urgent = True
        """Whether the user waits for figures: until the first `worked`, and from `ask` to the next one."""

    def grew(self) -> None:
        """Note that the session has grown, so that the next round can wait."""
        self._quiet_end = self._clock() + QUIET_SECONDS

    def worked(self, seconds: float) -> None:
        """A round ended after `seconds` of processor time."""
        self.is_urgent = False
        self._due = self._clock() + min(MAX_PAUSE_SECONDS, max(MIN_PAUSE_SECONDS, PAUSE_FACTOR * seconds))

    def ask(self) -> None:
        """Note that the user waits for figures: the next round begins at once."""
        self._due, self.is_urgent = 0.0, True

    def left(self) -> float:
        """Seconds until the next round may begin."""
        return max(0.0, min(self._due, self._quiet_end) - self._clock())


class ReportCache:
    """Reports of the whole recording, each kept until the recording grows."""

    def __init__(self, source: SessionSource) -> None:
        self._source = source
        self._entries: dict[tuple[str, str], tuple[object, Any]] = {}

    def get(self, kind: Report[T], loaded: Loaded) -> T:
        state = id(loaded.session), loaded.bytes_read, len(loaded.session.calls)
        key = kind.name, kind.about
        entry = self._entries.get(key)
        if entry is None or entry[0] != state:
            entry = self._entries[key] = state, self._source.report(kind, loaded)
        return cast("T", entry[1])


POST_SECONDS: Final = 0.1
"""Seconds between two posts about figures, short enough to look continuous."""
_MAX_DISPLAY_WAIT_SECONDS: Final = 0.03
"""Longest wait of the first reading until a part is added; ten times that until `EndRead` is drawn."""

_LOW_PRIORITY_PAUSE_SECONDS: Final = 0.01
"""Seconds between two slices of low-priority work."""
_MAX_KEY_WAIT_SECONDS: Final = 0.25
"""Longest wait in seconds for the handling of a key."""

_MIN_FROZEN_NODES: Final = 10_000
"""Minimum nodes of a session whose objects are exempted from garbage collection, which would take too long."""


class EndRead(Message):
    """The end of a long recording, before the recording itself is read."""

    def __init__(self, end: RecordingEnd) -> None:
        super().__init__()
        self.end = end


class Began(Message):
    """The recording is open, but nothing is read yet."""

    def __init__(self, loaded: Loaded) -> None:
        super().__init__()
        self.loaded = loaded


class Brought(Message):
    """Part of the recording was read, first or while following it."""

    def __init__(self, news: RecordingNews) -> None:
        super().__init__()
        self.news = news


class Complete(Message):
    """The first reading is done."""


class Worked(Message):
    """More figures are known; with `done` a round of work ended."""

    def __init__(self, done: bool = False) -> None:
        super().__init__()
        self.done = done


class RequestsRun(Message):
    """Requested loads have run: a large block was read, or a pane's figures were computed."""


class Failed(Message):
    """Opening, reading or following failed."""

    def __init__(self, error: CtxtuiError) -> None:
        super().__init__()
        self.error = error


Post = Callable[[Message], object]


class SessionLoader:
    """The threads of one inspector: `read` and `compute_figures` run in a worker thread each."""

    def __init__(self, source: SessionSource, post: Post) -> None:
        self.reports = ReportCache(source)
        self._source = source
        self._post = post
        self._stop = threading.Event()
        self._more = threading.Event()
        self._woken = threading.Event()
        self._pace = Pace()
        self._last_post = 0.0
        """Time of the last post of partial figures, from which the next one waits."""
        self._displayed = threading.Event()
        self._key_handled = threading.Event()
        self._paused_until = 0.0
        self._study: Study | None = None
        self._is_read = self._is_computed = False
        """Whether all was read, and whether all of that was computed."""
        self._is_frozen = False
        self._requests: SimpleQueue[Callable[[], None]] = SimpleQueue()

    def read(self) -> None:
        """Open and read to the end, then follow; for a worker thread."""
        try:
            if (end := self._source.read_end()) is not None:
                self._post(EndRead(end))
                self._displayed.wait(_MAX_DISPLAY_WAIT_SECONDS * 10)
            loaded, pieces = self._source.open()
            self._post(Began(loaded))
            for news in pieces:
                if self._stop.is_set():
                    return
                self._displayed.clear()
                self._post(Brought(news))
                self._displayed.wait(_MAX_DISPLAY_WAIT_SECONDS)
                self.wait_for_keys()
                self._freeze_session(loaded.session)
            loaded.check()
        except CtxtuiError as error:
            self._post(Failed(error))
            return
        self._is_read = True
        self._post(Complete())
        # Imported late: following begins after reading.
        from ctxtui.services.recordings.follow import Follower, run_follower

        follower = Follower()
        follower.watch(loaded)
        run_follower(follower, self._on_followed, self._stop)

    def _on_followed(self, followed: FollowedNews) -> None:
        # After a rewrite the study is still that of the old session.
        if self._study is not None and followed.news.session is None and not self._stop.is_set():
            self._study.prefetch_new()
        self._post(Failed(followed.error) if followed.error is not None else Brought(followed.news))

    def pause_for_key(self) -> None:
        """Pause threads until `resume`, or for `_MAX_KEY_WAIT_SECONDS`.

        Not every key has a frame.
        """
        self._key_handled.clear()
        self._paused_until = time.monotonic() + _MAX_KEY_WAIT_SECONDS

    def resume(self) -> None:
        """End the pause for a key."""
        self._paused_until = 0.0
        self._key_handled.set()

    def wait_for_keys(self) -> None:
        """Wait while a key is handled; called by the threads between slices of work."""
        left = self._paused_until - time.monotonic()
        if left > 0:
            self._key_handled.wait(left)

    def on_displayed(self) -> None:
        """Let the reading thread go on: what it posted is drawn."""
        self._displayed.set()

    def work_on(self, study: Study) -> None:
        """Compute the figures of `study` from now on."""
        self._study = study
        self._more.set()

    def work(self) -> None:
        """Call if there may be more to compute; during the handling of a key, it starts at once."""
        if time.monotonic() < self._paused_until:
            self._pace.ask()
        self._more.set()
        self._woken.set()

    def grew(self, *, counted: bool) -> None:
        """Call when the session has grown; new blocks are counted at once unless they are `counted`."""
        self._pace.grew()
        self._more.set()
        if not counted:
            self._woken.set()

    def request_load(self, load: Callable[[], None]) -> None:
        """Run `load` in the figures thread before other work."""
        self._requests.put(load)
        if time.monotonic() < self._paused_until:
            self._pace.ask()
        self._more.set()
        if self._pace.left() <= 0:
            # A worker that waits for the next round wakes up by itself.
            self._woken.set()

    def _run_requests(self) -> bool:
        # Only those present now: a growing session always has more.
        count = self._requests.qsize()
        for _ in range(count):
            self._requests.get()()
        if count:
            self._post(RequestsRun())
        return count > 0

    def compute_figures(self) -> None:
        """Compute figures whenever there is work; for a worker thread."""
        finished: Study | None = None
        while not self._stop.is_set():
            self._wait()
            begun = time.thread_time()
            computed = self._compute()
            if self._stop.is_set():
                return
            # If neither holds, there was nothing to compute.
            if computed or finished is not self._study:
                finished = self._study
                self._post(Worked(done=True))
                self._source.save_counts()
                if finished is not None:
                    if self._is_computed:
                        self._pace.worked(time.thread_time() - begun)
                    self._is_computed = self._is_read
            self._compute_low_priority()

    def _wait(self) -> None:
        self._more.wait()
        while not self._stop.is_set() and (left := self._pace.left()) > 0:
            self._woken.clear()
            if self._study is not None and self._study.count_pending():
                self._post_partial()
            self._woken.wait(left)
        self._more.clear()

    def _post_partial(self) -> None:
        if time.monotonic() - self._last_post > POST_SECONDS:
            self._last_post = time.monotonic()
            self._post(Worked())

    def _compute(self) -> bool:
        computed = False
        if self._is_computed:
            # New records are already shown: post no partial figures in the first `POST_SECONDS`.
            self._last_post = time.monotonic()
        # Requests that come meanwhile wait for the next round, unless the user waits.
        while not self._stop.is_set() and (
            ((not computed or self._pace.is_urgent) and self._run_requests())
            or (self._study is not None and self._study.work())
        ):
            computed = True
            self.wait_for_keys()
            self._post_partial()
            if self._study is not None:
                self._freeze_session(self._study.session)
        return computed

    def _freeze_session(self, session: Session) -> None:
        """Exempt all present objects from garbage collection, unless the session is small.

        Not done any more once all figures were computed.
        """
        if not self._is_computed and len(session.tree) >= _MIN_FROZEN_NODES:
            gc.freeze()
            self._is_frozen = True

    def _compute_low_priority(self) -> None:
        rested = False
        while (
            not self._stop.is_set() and not self._more.is_set() and self._study is not None and self._study.work_idle()
        ):
            rested = True
            self.wait_for_keys()
            self._more.wait(_LOW_PRIORITY_PAUSE_SECONDS)
        if rested and not self._stop.is_set():
            self._post(Worked(done=True))

    def stop(self) -> None:
        self._stop.set()
        self.resume()
        self._more.set()
        self._woken.set()
        self._source.close()
        if self._is_frozen:
            # Also those of other inspectors: their objects are only searched for garbage again.
            gc.unfreeze()
