"""A child process ends with its parent, whatever its threads hold."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.warm import COLD


class _NeedsLock:
    """As it goes it takes a lock, which another thread never gives."""

    def __init__(self) -> None:
        self._lock, taken = threading.Lock(), threading.Event()
        threading.Thread(target=_hold, args=(self._lock, taken), daemon=True).start()
        assert taken.wait(30)

    def __del__(self) -> None:
        self._lock.acquire()


def _hold(lock: threading.Lock, taken: threading.Event) -> None:
    with lock:
        taken.set()
        while True:
            time.sleep(0.01)


def make() -> Callable[[str], str]:
    """Says what it hears; what the interpreter's end would take away needs a lock that a thread holds."""
    sys.needs_lock = _NeedsLock()  # type: ignore[attr-defined]

    def answer(request: str) -> str:
        if request == "fail":
            raise ValueError("it failed")
        return request

    return answer


@contextmanager
def child(monkeypatch: pytest.MonkeyPatch) -> Iterator[subprocess.Popen[bytes]]:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    process = COLD(f"{__name__}:make")
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def asks(process: subprocess.Popen[bytes], request: str) -> None:
    assert process.stdin is not None
    pickle.dump(request, process.stdin)
    process.stdin.flush()


def test_it_ends_with_its_pipe_while_a_thread_of_it_holds_a_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    with child(monkeypatch) as process:
        assert process.stdin is not None and process.stdout is not None
        asks(process, "x" * 1_000_000)
        assert pickle.load(process.stdout) == "x" * 1_000_000
        process.stdin.close()
        process.stdin = None
        assert process.wait(20) == 0


def test_it_ends_with_work_that_fails_while_a_thread_of_it_holds_a_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    with child(monkeypatch) as process:
        assert process.stdout is not None
        asks(process, "fail")
        assert process.stdout.read() == b""
        assert process.wait(20) == 1
