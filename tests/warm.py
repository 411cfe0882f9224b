"""Programs that are forked from one that has imported everything: each is a process as the real one, with the same
streams, signals and end, and costs a fiftieth of its start.

`tests/conftest` lets every `ChildProcess` be started so; a test of how it starts takes the fixture `cold_children`.
What runs `ctxtui` or a script with a provider's SDK, and is not about how that starts, runs it with `warm_python`.
"""

from __future__ import annotations

import fcntl
import marshal
import os
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

from ctxtui.services import child_process

REPO = Path(__file__).parents[1]
COLD = child_process._start
_RUN = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))[:16]
_FOLDER = Path(tempfile.gettempdir()) / f"ctxtui-warm-{os.getuid()}-{_RUN}"
_CHILD = "from ctxtui.services.child_process import main; main()"
_starting = Lock()


def warm_python() -> list[str]:
    """What stands for ``sys.executable`` in a command."""
    return [sys.executable, "-I", "-S", str(REPO / "tests" / "warm_launch.py"), server()]


def warm_ctxtui() -> list[str]:
    """`ctxtui` as a command."""
    return [*warm_python(), "-m", "ctxtui"]


class WarmChild:
    """What `child_process` needs of a ``Popen``."""

    def __init__(self, maker: str) -> None:
        requests, asked = os.pipe()
        told, answers = os.pipe()
        with open(os.devnull, "wb") as nowhere:
            self._link = _ask(server(), ["-c", _CHILD, maker], [requests, answers, nowhere.fileno()])
        os.close(requests)
        os.close(answers)
        self.stdin: Any = os.fdopen(asked, "wb")
        self.stdout: Any = os.fdopen(told, "rb")
        self.pid = int.from_bytes(self._link.recv(8), "big")
        assert self.pid

    def kill(self) -> None:
        # Its link ends, and it with it: a number is not safe to kill when the process may be gone.
        with suppress(OSError):
            self._link.shutdown(socket.SHUT_WR)

    def wait(self) -> None:
        with suppress(OSError):
            self._link.recv(8)
        self._link.close()


def server() -> str:
    """The socket of the process that forks, which all workers of a test run share and which ends with them."""
    with _starting:
        return _server()


@cache
def _server() -> str:
    _FOLDER.mkdir(mode=0o700, exist_ok=True)
    path = str(_FOLDER / "socket")
    with open(_FOLDER / "lock", "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(path):
            _start_server(path)
        _holding.append(_ask(path, [], []))
    return path


_holding: list[socket.socket] = []


def _start_server(path: str) -> None:
    # Not with -m: a warning that is shown in a program's own module only is not shown for the server's.
    command = [sys.executable, "-c", "from tests.warm_server import main; main()", path]
    environ = {**os.environ, "PYTHONPATH": str(REPO)}
    nowhere: Any = {"stdin": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    started = subprocess.Popen(
        command, cwd=REPO, env=environ, stdout=subprocess.PIPE, start_new_session=True, **nowhere
    )
    assert started.stdout is not None
    with started.stdout as said:
        assert said.readline() == b"ready\n", "the process that forks programs did not start"
    started.returncode = 0  # it outlives this worker where others hold it


def _ask(path: str, words: list[str], streams: list[int]) -> socket.socket:
    """The link to the server, where it was asked for a program with `words`; with none it holds the server."""
    link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    link.connect(path)
    asked = marshal.dumps((os.getcwd(), words, dict(os.environb), list(range(len(streams)))))
    data = len(asked).to_bytes(8, "big") + asked
    sent = socket.send_fds(link, [data], streams) if streams else 0
    link.sendall(data[sent:])
    return link
