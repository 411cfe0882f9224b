"""Work done in a process of its own: the screen's process never waits for it, and a crash in it stays in it.

Parent and child speak pickles over pipes, one answer to each request. What the child prints to standard error (a
tokenizer's panic) goes nowhere.
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
    """The child could not be started, or died at its work."""


class ChildProcess:
    """A child process that answers requests with the function that `maker` (``module:function``) makes in it.

    Started at the first request, ended by `close` or with us. Requests from several threads wait for one another.
    """

    def __init__(self, maker: str) -> None:
        self._maker = maker
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self.closed = 0
        """How often it was closed."""

    def ask(self, request: object, *, closed: int | None = None) -> Any:
        """The answer to `request`. Raises `ChildGone`; the next request starts another child. With `closed`, the number
        at the time of asking, a request that `close` came before is not done any more, wherever it was on its way."""
        with self._lock:
            try:
                process = self._process = self._process or _start(self._maker)
                assert process.stdin is not None and process.stdout is not None
                # Behind the line above: whoever closes from now on finds the process, and kills it.
                if closed is not None and closed != self.closed:
                    raise EOFError("it was closed")
                pickle.dump(request, process.stdin, pickle.HIGHEST_PROTOCOL)
                process.stdin.flush()
                return pickle.load(process.stdout)
            except (OSError, EOFError, ValueError, pickle.UnpicklingError) as error:
                self._end()
                raise ChildGone(f"the process for {self._maker} ended: {error}") from error

    @property
    def pid(self) -> int:
        """The child's process id; 0 while there is none."""
        process = self._process
        return process.pid if process is not None else 0

    def close(self) -> None:
        """End the child; a request under way fails."""
        self.closed += 1
        self._end()

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                # What was still to be flushed has no reader any more.
                with suppress(OSError):
                    if pipe is not None:
                        pipe.close()


def _start(maker: str) -> subprocess.Popen[bytes]:
    # -P: a folder called ctxtui where the user stands must not be taken for the program.
    home = str(Path(ctxtui.__file__).resolve().parent.parent)
    known = os.environ.get("PYTHONPATH")
    environment = {**os.environ, "PYTHONPATH": f"{home}{os.pathsep}{known}" if known else home}
    command = [sys.executable, "-P", "-m", "ctxtui.services.child_process", maker]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=environment)


def serve(answer: Callable[[Any], Any], requests: BinaryIO, answers: BinaryIO) -> None:
    """The child's life: answer until the parent closes the pipe."""
    while True:
        try:
            request = pickle.load(requests)
        except EOFError:
            return
        pickle.dump(answer(request), answers, pickle.HIGHEST_PROTOCOL)
        answers.flush()


def main() -> NoReturn:
    """Run as the child: the maker is the first argument. It is this process's end."""
    # A session is many objects that live as long as they are worked on: looking through all of them costs a tenth.
    gc.set_threshold(20_000, 20, 100)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # ctrl+c is for the parent, whose end closes the pipe
    module, _, function = sys.argv[1].partition(":")
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever prints must not end up between two answers
    try:
        serve(getattr(import_module(module), function)(), sys.stdin.buffer, answers)
    finally:
        _end()


def _end() -> NoReturn:
    """End this process, and tell of the error that ends it, if any. What it answered is written by now."""
    kind, error, trace = sys.exc_info()
    if kind is not None and error is not None:
        sys.excepthook(kind, error, trace)
    for stream in sys.stdout, sys.stderr:
        with suppress(OSError, ValueError):
            stream.flush()
    # The interpreter's own end stops threads wherever they are, such as one that loads a tokenizer, and would wait for
    # good for a lock that one of them holds.
    os._exit(0 if kind is None else 1)


if __name__ == "__main__":
    main()
