"""Child processes that are forked from one that has imported everything: each is a process as the program's own, with
the same pipes and the same end, and costs a hundredth of its start.

`tests/conftest` lets every `ChildProcess` be started so; a test of how it starts takes the fixture `cold_children`.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
from functools import cache
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from ctxtui.services import child_process

REPO = Path(__file__).parents[1]
COLD = child_process._start


class WarmChild:
    """What `child_process` needs of a ``Popen``."""

    def __init__(self, maker: str) -> None:
        _serve()
        context = multiprocessing.get_context("forkserver")
        requests, asked = context.Pipe(duplex=False)
        told, answers = context.Pipe(duplex=False)
        self._process = context.Process(
            target=live, args=(maker, requests, answers, dict(os.environ), os.getcwd()), daemon=True
        )
        self._process.start()
        requests.close()
        answers.close()
        self.stdin: Any = os.fdopen(os.dup(asked.fileno()), "wb")
        self.stdout: Any = os.fdopen(os.dup(told.fileno()), "rb")
        asked.close()
        told.close()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def kill(self) -> None:
        self._process.kill()

    def wait(self) -> None:
        self._process.join()


_serving = threading.Lock()
"""Held while the environment is another one: threads start children at the same moment."""


@cache
def _serve() -> None:
    """Start the process that the others are forked from, where it finds `tests` wherever a test stands."""
    with _serving, pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(REPO))
        patch.setattr(sys, "stderr", sys.__stderr__)  # Textual's has no file to be handed on
        forkserver.set_forkserver_preload(["tests.warm_preload"])
        forkserver.ensure_running()


def live(maker: str, requests: Connection, answers: Connection, environ: dict[str, str], folder: str) -> None:
    """The child's life, from where its program would begin."""
    os.environ.clear()
    os.environ.update(environ)
    os.chdir(folder)
    os.dup2(requests.fileno(), 0)
    os.dup2(answers.fileno(), 1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    # The parent's end is the end of the requests: no other copy of them may stay open.
    requests.close()
    answers.close()
    sys.stdin, sys.argv = os.fdopen(0), ["ctxtui", maker]
    child_process.main()
