"""`ctxtui.record()`: what this very program asks models, recorded while it goes on.

A recording counts in the context that it was begun in (threads and tasks each have their own), and else for the whole
program, the newest first.
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

from ctxtui.attach.httpx_hook import LEFT, Hook, WatchedExchange, asks_a_model
from ctxtui.attach.recorder import Recorder
from ctxtui.attach.run import RecordedRun, new_run
from ctxtui.attach.tape import file_name
from ctxtui.services.config.paths import attached_dir

F = TypeVar("F", bound=Callable[..., Any])

_LOCK: Final = Lock()
_ACTIVE: Final[list[InProcessRecording]] = []
_HERE: Final[ContextVar[InProcessRecording | None]] = ContextVar("ctxtui recording", default=None)


class InProcessRecording:
    """What `ctxtui.record` gives. It records from the beginning; `stop`, or leaving it as a context manager, ends it.

    `session` names it: `ctxtui open SESSION` shows it, also while it grows. `path` is its file.
    """

    def __init__(self, session: str, thread: str, tags: Sequence[str], folder: Path | None) -> None:
        outer = None if session else current()
        self.session: str = session or (outer.session if outer is not None else f"run-{new_run()}")
        self.thread = thread
        self._tags = tuple(tags)
        self._folder = folder or (outer.folder if outer is not None else attached_dir())
        self._outer = outer
        self._recorder = outer.recorder if outer is not None else None
        self._faults: list[str] = []
        self._open: list[WatchedExchange] = []
        self._tokens: list[Token[InProcessRecording | None]] = []
        self._begin()

    @property
    def folder(self) -> Path:
        """Where its file is."""
        return self._folder

    @property
    def recorder(self) -> Recorder | None:
        """What writes it."""
        return self._recorder

    @property
    def path(self) -> Path:
        """Its file, with everything so far in it; it is made with the first request."""
        self.flush()

        return self._folder / file_name(self.session)

    @property
    def troubles(self) -> list[str]:
        """What could not be recorded, in words; empty where everything was."""
        return [*(self._recorder.troubles if self._recorder is not None else ()), *self._faults]

    def flush(self, seconds: float = 5.0) -> bool:
        """Wait until everything so far is in the file; whether it was within so many seconds."""
        return self._recorder is None or self._recorder.flush(seconds)

    def stop(self) -> None:
        """Record no more, and write what waits."""
        with _LOCK:
            if self not in _ACTIVE:
                return
            _ACTIVE.remove(self)
            last = not _ACTIVE
        if last:
            _HOOK.off()
        # A framework may drop an answer that it has what it wants of, and close it never.
        for one in self._open:
            one.end(LEFT)
        self._open.clear()
        if self._outer is None and self._recorder is not None:
            self._recorder.close()
            for trouble in self.troubles:
                sys.stderr.write(f"ctxtui: not everything was recorded: {trouble}\n")
        else:
            self.flush()

    def __enter__(self) -> InProcessRecording:
        self._begin()
        self._tokens.append(_HERE.set(self))
        return self

    def __exit__(self, *_: object) -> None:
        _HERE.reset(self._tokens.pop())
        self.stop()

    def __call__(self, function: F) -> F:
        """As a decorator: each call of `function` is recorded, nothing else is."""
        self.stop()
        again = functools.partial(InProcessRecording, self.session, self.thread, self._tags, self._folder)
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def awaited(*args: Any, **named: Any) -> Any:
                with again():
                    return await function(*args, **named)

            return awaited  # type: ignore[return-value]

        @functools.wraps(function)
        def called(*args: Any, **named: Any) -> Any:
            with again():
                return function(*args, **named)

        return called  # type: ignore[return-value]

    def heard(self, request: Any) -> WatchedExchange:
        """Begin to hear a request."""
        recorder = self._recorder
        assert recorder is not None
        heard = WatchedExchange(recorder.put, recorder.next_name(), self._fault)
        heard.begin(request, self.session, self.thread)
        self._open = [one for one in self._open if not one.over]
        self._open.append(heard)
        return heard

    def _fault(self, error: Exception) -> None:
        if len(self._faults) < 10:
            self._faults.append(f"a fault in ctxtui: {type(error).__name__}: {error}")

    def _begin(self) -> None:
        with _LOCK:
            if self in _ACTIVE:
                return
            if self._recorder is None or (self._outer is None and self._recorder.closed):
                name = Path(sys.argv[0]).name if sys.argv else ""
                self._recorder = Recorder(
                    RecordedRun(
                        self._folder,
                        new_run(),
                        self.session,
                        program=name,
                        cwd=os.getcwd(),
                        tags=self._tags,
                    )
                )
            _ACTIVE.append(self)
            first = len(_ACTIVE) == 1
        if first:
            _HOOK.on()


def record(
    function: Any = None,
    *,
    session: str = "",
    thread: str = "",
    tags: Sequence[str] = (),
    folder: str | os.PathLike[str] | None = None,
) -> Any:
    """Begin to record; see `ctxtui.record`."""
    made = InProcessRecording(session, thread, tags, Path(folder) if folder is not None else None)
    return made(function) if function is not None else made


def current() -> InProcessRecording | None:
    """The recording that counts here, None where nothing is recorded."""
    here = _HERE.get()
    if here is not None and here in _ACTIVE:
        return here
    return _ACTIVE[-1] if _ACTIVE else None


def _hear(request: Any) -> WatchedExchange | None:
    try:
        recording = current() if asks_a_model(request) else None
        return recording.heard(request) if recording is not None else None
    except Exception:  # noqa: BLE001 - a call of the program must not fail because of its record
        return None


_HOOK: Final = Hook(_hear)


@atexit.register
def _ended() -> None:
    for recording in list(_ACTIVE):
        recording.stop()


def _forked() -> None:
    for recording in list(_ACTIVE):
        if recording.recorder is not None:
            recording.recorder.begin_anew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
