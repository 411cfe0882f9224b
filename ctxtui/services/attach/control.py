"""Controls a run (``ctxtui exec`` or ``proxy``) in another process of the user.

Requests go over loopback, with a secret from a file that only the user can read. The run keeps that file locked while
it serves, so that a killed run leaves no lock.
"""

from __future__ import annotations

import asyncio
import fcntl
import hmac
import json
import os
import secrets
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Final

from ctxtui.core.errors import CtxtuiError, NotFound

CONTROL_SUFFIX: Final = ".control"
MAX_MESSAGE_BYTES: Final = 1 << 20
"""Maximum bytes of a request, and of its answer."""
TIMEOUT_S: Final = 5.0

Answer = Callable[[dict[str, Any]], dict[str, Any]]


class Control:
    """Serves control requests for a run in `folder` with `answer`.

    A request must carry the secret of the run's file.
    """

    def __init__(self, folder: Path, run: str, answer: Answer) -> None:
        self._path = folder / f"{run}{CONTROL_SUFFIX}"
        self._answer = answer
        self._secret = secrets.token_hex(16)
        self._server: asyncio.Server | None = None
        self._file: IO[str] | None = None

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._handle, "127.0.0.1", 0, limit=MAX_MESSAGE_BYTES)
        port = self._server.sockets[0].getsockname()[1]
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Locked before it gets its name, so that readers always find it locked.
        part = self._path.with_suffix(".part")
        self._file = os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "w")
        fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        json.dump({"port": port, "word": self._secret, "pid": os.getpid()}, self._file)
        self._file.flush()
        part.rename(self._path)

    async def close(self) -> None:
        self._path.unlink(missing_ok=True)
        if self._file is not None:
            self._file.close()
        if self._server is not None:
            self._server.close()

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, ValueError, RecursionError):
            async with asyncio.timeout(TIMEOUT_S):
                request = json.loads(await reader.readline())
                if isinstance(request, dict) and hmac.compare_digest(
                    str(request.get("word")).encode(), self._secret.encode()
                ):
                    writer.write(json.dumps(self._respond(request)).encode() + b"\n")
                    await writer.drain()
        writer.close()

    def _respond(self, request: dict[str, Any]) -> dict[str, Any]:
        try:
            return self._answer(request)
        except CtxtuiError as error:
            # "none": this run does not hold the request, but another may.
            return {"error": error.message, "none": isinstance(error, NotFound)}


def ask_all(folder: Path, request: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Send a request to each run that serves in `folder`; yield the run and its answer.

    Runs that do not answer are skipped, and files of killed runs are removed.
    """
    for path in sorted(folder.glob(f"*{CONTROL_SUFFIX}")):
        try:
            with path.open(encoding="utf-8") as file:
                if not _is_locked(file):
                    # Another program may use the port by now; it must not get the secret.
                    path.unlink(missing_ok=True)
                    continue
                run_info = json.load(file)
            with socket.create_connection(("127.0.0.1", int(run_info["port"])), timeout=TIMEOUT_S) as connection:
                connection.sendall(json.dumps({**request, "word": run_info["word"]}).encode() + b"\n")
                answer = json.loads(connection.makefile("rb").readline(MAX_MESSAGE_BYTES))
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if isinstance(answer, dict):
            yield path.stem, answer


def _is_locked(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    return False
