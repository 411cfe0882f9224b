"""How one process of the user's speaks to the relay of another one: over loopback, with a word from a file that only
the user can read, and that its run holds locked as long as it serves: a run that was killed locks nothing."""

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

_ENDING: Final = ".control"
_LONGEST: Final = 1 << 20
_SECONDS: Final = 5.0

Answer = Callable[[dict[str, Any]], dict[str, Any]]


class Control:
    """Serves `answer` for a run in `folder`; who asks has to know the word in the run's file."""

    def __init__(self, folder: Path, run: str, answer: Answer) -> None:
        self._path = folder / f"{run}{_ENDING}"
        self._answer = answer
        self._word = secrets.token_hex(16)
        self._server: asyncio.Server | None = None
        self._file: IO[str] | None = None

    async def start(self) -> None:
        """Begin to serve."""
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0, limit=_LONGEST)
        port = self._server.sockets[0].getsockname()[1]
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Under its name it is locked, whoever looks.
        part = self._path.with_suffix(".part")
        self._file = os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "w")
        fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        json.dump({"port": port, "word": self._word, "pid": os.getpid()}, self._file)
        self._file.flush()
        part.rename(self._path)

    async def close(self) -> None:
        """Serve no more."""
        self._path.unlink(missing_ok=True)
        if self._file is not None:
            self._file.close()
        if self._server is not None:
            self._server.close()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError):
            async with asyncio.timeout(_SECONDS):
                asked = json.loads(await reader.readline())
                if isinstance(asked, dict) and hmac.compare_digest(str(asked.get("word")), self._word):
                    writer.write(json.dumps(self._told(asked)).encode() + b"\n")
                    await writer.drain()
        writer.close()

    def _told(self, asked: dict[str, Any]) -> dict[str, Any]:
        try:
            return self._answer(asked)
        except CtxtuiError as error:
            return {"error": error.message, "none": isinstance(error, NotFound)}


def ask_all(folder: Path, asked: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """What each run that serves in `folder` answers, by its name; the file of one that was killed goes."""
    for path in sorted(folder.glob(f"*{_ENDING}")):
        try:
            with path.open(encoding="utf-8") as file:
                if not _is_locked(file):
                    # Another program may have its port by now, which must not get its word.
                    path.unlink(missing_ok=True)
                    continue
                told = json.load(file)
            with socket.create_connection(("127.0.0.1", int(told["port"])), timeout=_SECONDS) as line:
                line.sendall(json.dumps({**asked, "word": told["word"]}).encode() + b"\n")
                answer = json.loads(line.makefile("rb").readline(_LONGEST))
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
