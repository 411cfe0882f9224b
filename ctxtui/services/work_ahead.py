"""Work begun in a copy of this process before the program has loaded what it shows it with: on another processor the
two are done in the time of one.

The copy has everything that is loaded by then, costs half a millisecond, and gives its answer as a pickle. There is
none where a system cannot copy a process, and where other threads run: a lock that one of them holds would stay held.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Generic, NoReturn, TypeVar

T = TypeVar("T")

_ROOM: Final = 1 << 20
"""Bytes of an answer that the pipe takes before anybody reads it, where the system lets it: Linux gives 64 KB."""


class CopyGone(RuntimeError):
    """The copy gave nothing, or what it gave was taken before."""


class WorkAhead(Generic[T]):
    """`work` is begun at once, `take` waits for what it gave. Whoever does not want it any more calls `close`, from any
    thread."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._lock = threading.Lock()
        self._asked = False
        self._answer, answer = os.pipe()
        _widen(answer)
        self._whole = False
        """Whether the copy has given its answer and ended."""
        self._pid = os.fork()
        if not self._pid:
            os.close(self._answer)
            _work(work, answer)
        os.close(answer)

    @staticmethod
    def possible() -> bool:
        """Whether this process can be copied now, and there is another processor for the copy."""
        return hasattr(os, "fork") and threading.active_count() == 1 and (os.cpu_count() or 1) > 1

    def there(self) -> bool:
        """Whether the whole answer is there by now: `take` waits for nothing then."""
        with self._lock:
            if self._pid:
                ended, status = os.waitpid(self._pid, os.WNOHANG)
                if ended:
                    self._pid, self._whole = 0, status == 0
            return self._whole and not self._asked

    def take(self) -> T:
        """What `work` gave. Raises `CopyGone` where it gave nothing, or is asked for a second time."""
        if not self._ask():
            raise CopyGone("the copy of this process was asked before")
        pieces = []
        try:
            while piece := os.read(self._answer, _ROOM):
                pieces.append(piece)
            found: T = pickle.loads(b"".join(pieces))
        except (OSError, EOFError, ValueError, pickle.UnpicklingError) as error:
            raise CopyGone(f"the copy of this process gave nothing: {error}") from error
        finally:
            self._reap()
        return found

    def _ask(self) -> bool:
        """Whether this is the first who waits for the answer."""
        with self._lock:
            first, self._asked = not self._asked, True
        return first

    def close(self) -> None:
        """End the copy; who waits for its answer gets none."""
        with self._lock:
            if self._pid:
                os.kill(self._pid, signal.SIGKILL)
        if self._ask():
            self._reap()

    def _reap(self) -> None:
        os.close(self._answer)
        with self._lock:
            if self._pid:
                # It has said all that it had to say, or was ended: this takes no time.
                os.waitpid(self._pid, 0)
                self._pid = 0


def _widen(pipe: int) -> None:
    """Let the copy end as soon as it has worked: it waits for nobody who reads its answer."""
    import fcntl

    with suppress(AttributeError, OSError):
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _ROOM)


def _work(work: Callable[[], T], answer: int) -> NoReturn:
    """The life of the copy: it never goes back to what this process was about to do."""
    code = 1
    try:
        gc.disable()
        with os.fdopen(answer, "wb") as pipe:
            pickle.dump(work(), pipe, pickle.HIGHEST_PROTOCOL)
        code = 0
    except BaseException:  # noqa: BLE001 - whoever asks does the work again, and meets the same error
        pass
    finally:
        os._exit(code)
