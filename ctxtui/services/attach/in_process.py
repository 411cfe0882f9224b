"""`ctxtui.record()`: records the requests to models of the program that calls it.

In a ``with`` block, and in tasks started there, the block's recording applies; requests from elsewhere in the program
(another thread, too) are recorded by the newest recording.
"""

from __future__ import annotations

import atexit
import functools
import inspect
import os
import sys
from collections.abc import Callable, Sequence
from contextvars import ContextVar, Token
from pathlib import Path
from threading import Lock
from typing import Any, Final, TypeVar

from ctxtui.attach.httpx_hook import LEFT, Hook, WatchedExchange, is_model_call
from ctxtui.attach.recorder import Recorder
from ctxtui.attach.run import RecordedRun, new_run_name
from ctxtui.attach.tape import file_name
from ctxtui.services.config.paths import attached_dir

F = TypeVar("F", bound=Callable[..., Any])

_LOCK: Final = Lock()
_ACTIVE: Final[list[InProcessRecording]] = []
CONTEXT_RECORDING: Final[ContextVar[InProcessRecording | None]] = ContextVar("ctxtui recording", default=None)


class InProcessRecording:
    """A recording made by `ctxtui.record`.

    It starts at once; `stop`, or the end of the ``with`` block, ends it.
    """

    def __init__(self, session: str, thread: str, tags: Sequence[str], folder: Path | None) -> None:
        outer = None if session else current()
        self.session: str = session or (outer.session if outer is not None else f"run-{new_run_name()}")
        self.thread = thread
        self._tags = tuple(tags)
        self.folder: Path = folder or (outer.folder if outer is not None else attached_dir())
        is_shared = outer is not None and folder is None and not tags
        self.recorder: Recorder | None = outer.recorder if outer is not None and is_shared else None
        """The recorder that writes it.

        Shared with the recording that was current when it started, unless `session`, `folder` or `tags` were given.
        """
        self._faults: list[str] = []
        self._open: list[WatchedExchange] = []
        self._tokens: list[Token[InProcessRecording | None]] = []
        self._begin()

    @property
    def path(self) -> Path:
        """Its file, created with the first request; waits until everything so far is in it."""
        self.flush()
        return self.folder / file_name(self.session)

    @property
    def troubles(self) -> list[str]:
        """Known problems of recording."""
        return [*(self.recorder.troubles if self.recorder is not None else ()), *self._faults]

    def flush(self, seconds: float = 5.0) -> bool:
        """Wait until everything so far is in the file; True if it was within `seconds`."""
        return self.recorder is None or self.recorder.flush(seconds)

    def stop(self) -> None:
        """Stop recording and write what is pending."""
        with _LOCK:
            if self not in _ACTIVE:
                return
            _ACTIVE.remove(self)
            last = not _ACTIVE
            is_shared = any(other.recorder is self.recorder for other in _ACTIVE)
        if last:
            _HOOK.remove()
        # A framework may abandon an answer without closing it.
        for exchange in self._open:
            exchange.end(LEFT)
        self._open.clear()
        if is_shared:
            self.flush()
        elif self.recorder is not None:
            self.recorder.close()
        # The last of its recordings reports a shared recorder's troubles.
        for trouble in self._faults if is_shared else self.troubles:
            sys.stderr.write(f"ctxtui: not everything was recorded: {trouble}\n")

    def __enter__(self) -> InProcessRecording:
        self._begin()
        self._tokens.append(CONTEXT_RECORDING.set(self))
        return self

    def __exit__(self, *_: object) -> None:
        CONTEXT_RECORDING.reset(self._tokens.pop())
        self.stop()

    def __call__(self, function: F) -> F:
        """Use as a decorator: record while `function` runs.

        What a generator does later is not recorded.
        """
        self.stop()
        start_recording = functools.partial(InProcessRecording, self.session, self.thread, self._tags, self.folder)
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def await_function(*args: Any, **named: Any) -> Any:
                with start_recording():
                    return await function(*args, **named)

            return await_function  # type: ignore[return-value]

        @functools.wraps(function)
        def call_function(*args: Any, **named: Any) -> Any:
            with start_recording():
                return function(*args, **named)

        return call_function  # type: ignore[return-value]

    def watch(self, request: Any) -> WatchedExchange:
        recorder = self.recorder
        assert recorder is not None
        exchange = WatchedExchange(recorder.put, recorder.next_name(), self.add_fault)
        exchange.begin(request, self.session, self.thread)
        self._open = [open_exchange for open_exchange in self._open if not open_exchange.is_over]
        self._open.append(exchange)
        return exchange

    def add_fault(self, error: Exception) -> None:
        if len(self._faults) < 10:
            self._faults.append(f"a fault in ctxtui: {type(error).__name__}: {error}")

    def _begin(self) -> None:
        with _LOCK:
            if self in _ACTIVE:
                return
            if self.recorder is None or self.recorder.closed:
                name = Path(sys.argv[0]).name if sys.argv else ""
                self.recorder = Recorder(
                    RecordedRun(
                        self.folder,
                        new_run_name(),
                        self.session,
                        program=name,
                        cwd=os.getcwd(),
                        tags=self._tags,
                    )
                )
            _ACTIVE.append(self)
            first = len(_ACTIVE) == 1
        if first:
            _HOOK.install()


def record(
    function: Any = None,
    *,
    session: str = "",
    thread: str = "",
    tags: Sequence[str] = (),
    folder: str | os.PathLike[str] | None = None,
) -> Any:
    """Start a recording, or decorate `function`; see `ctxtui.record`."""
    recording = InProcessRecording(session, thread, tags, Path(folder) if folder is not None else None)
    return recording(function) if function is not None else recording


def current() -> InProcessRecording | None:
    """The recording that applies here; None if nothing is recorded."""
    here = CONTEXT_RECORDING.get()
    if here is not None and here in _ACTIVE:
        return here
    return _ACTIVE[-1] if _ACTIVE else None


def _watch_request(request: Any) -> WatchedExchange | None:
    recording = None
    try:
        recording = current() if is_model_call(request) else None
        return recording.watch(request) if recording is not None else None
    except Exception as error:  # noqa: BLE001 - a call of the program must not fail because of its record
        if recording is not None:
            recording.add_fault(error)
        return None


_HOOK: Final = Hook(_watch_request)


@atexit.register
def _stop_all() -> None:
    for recording in list(_ACTIVE):
        recording.stop()


def _restart_after_fork() -> None:
    recorders = {id(recording.recorder): recording.recorder for recording in _ACTIVE}
    for recorder in recorders.values():
        if recorder is not None:
            recorder.reset_after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_restart_after_fork)
