"""Runs work in a child process, so that its crash does not end this one.

Parent and child exchange pickles over pipes, one answer to each request. The child's standard error is discarded.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import ctxtui


class ChildGone(RuntimeError):
    """The child process could not be started, died while working, or was closed."""


class ChildProcess:
    """A child process that answers requests.

    The function that answers is returned by `maker` (``module:function``) in the child. The first request starts the
    child; `close` ends it, or, after its present request, the end of this process. Requests of several threads are
    answered one after the other.
    """

    def __init__(self, maker: str) -> None:
        self._maker = maker
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self.close_count = 0
        """Number of times that `close` was called."""

    def ask(self, request: object, *, close_count: int | None = None) -> Any:
        """Send `request` and return the answer.

        Raises `ChildGone`; the next request starts a new child. `close_count` is the value of `self.close_count` when
        the request was made: if `close` was called since, it is not sent and the child ends.
        """
        with self._lock:
            try:
                process = self._process = self._process or _start(self._maker)
                assert process.stdin is not None and process.stdout is not None
                # Must follow the assignment above: a `close` from now on finds the process and kills it.
                if close_count is not None and close_count != self.close_count:
                    raise EOFError("it was closed")
                pickle.dump(request, process.stdin, pickle.HIGHEST_PROTOCOL)
                process.stdin.flush()
                return pickle.load(process.stdout)
            except (OSError, EOFError, ValueError, pickle.UnpicklingError) as error:
                self._end()
                raise ChildGone(f"the process for {self._maker} ended: {error}") from error

    @property
    def pid(self) -> int:
        """The child's process id; 0 if there is none."""
        process = self._process
        return process.pid if process is not None else 0

    def close(self) -> None:
        """End the child; a request in progress fails."""
        self.close_count += 1
        self._end()

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                # Flushing fails now that the reader is gone.
                with suppress(OSError):
                    if pipe is not None:
                        pipe.close()


def _start(maker: str) -> subprocess.Popen[bytes]:
    # -P: a folder called ctxtui in the working directory must not be imported instead of the program.
    package_root = str(Path(ctxtui.__file__).resolve().parent.parent)
    python_path = os.environ.get("PYTHONPATH")
    environment = {
        **os.environ,
        "PYTHONPATH": f"{package_root}{os.pathsep}{python_path}" if python_path else package_root,
    }
    command = [sys.executable, "-P", "-m", "ctxtui.services.child_process", maker]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=environment)


def serve(answer: Callable[[Any], Any], requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer requests in the child until the parent closes the pipe."""
    while True:
        try:
            request = pickle.load(requests)
        except EOFError:
            return
        pickle.dump(answer(request), answers, pickle.HIGHEST_PROTOCOL)
        answers.flush()


def main() -> NoReturn:
    # A session is many long-lived objects: collecting garbage among them would take a tenth of the time.
    gc.set_threshold(20_000, 20, 100)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # ctrl+c is for the parent; when it ends, the pipe closes
    module, _, function = sys.argv[1].partition(":")
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # printed text must not get between two answers
    code = 1
    try:
        serve(getattr(import_module(module), function)(), sys.stdin.buffer, answers)
        code = 0
    finally:
        # A normal exit stops threads at any point (one that loads a tokenizer, say) and could then wait forever for a
        # lock that one of them holds.
        os._exit(code)


if __name__ == "__main__":
    main()
