"""A program that runs for an agent: its whole process group, within a time, its output kept up to a size."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

KEPT: Final = 2_000_000
"""Bytes of output that are kept: the first half, and the last."""
_GRACE: Final = 1.0
"""Seconds between asking a process group to end and ending it; and for what a program leaves running behind it."""
_LOOK: Final = 0.02
_QUIET: Final = {"PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0", "NO_COLOR": "1"}
"""Variables by which programs ask nobody and colour nothing."""


class CommandResult(Struct, frozen=True):
    """How a program ended: its exit `code` (negative: the signal), its output, how many bytes of it were left out in
    the middle, the `seconds` it took, and whether it was ended because its time was up. `notes` say what of
    its work was refused."""

    code: int
    text: str
    left_out: int
    seconds: float
    late: bool = False
    notes: tuple[str, ...] = ()


class _Output:
    """The first and the last bytes of a stream."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self.size = 0

    def take(self, data: bytes) -> None:
        self.size += len(data)
        room = KEPT // 2 - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > KEPT:
            del self._tail[: len(self._tail) - KEPT // 2]

    def result(self) -> tuple[str, int]:
        tail = self._tail[-(KEPT // 2) :]
        left = self.size - len(self._head) - len(tail)
        between = f"\n[{left:,} bytes are left out]\n".encode() if left else b""
        return (bytes(self._head) + between + bytes(tail)).decode("utf-8", "replace"), left


def limited(argv: Sequence[str], memory_mb: int) -> list[str]:
    """The command that runs `argv` with so much address space at most (0: no limit)."""
    if not memory_mb:
        return list(argv)
    return ["/bin/sh", "-c", 'ulimit -v "$0" && exec "$@"', str(memory_mb * 1024), *argv]


async def run(
    argv: Sequence[str],
    cwd: Path,
    seconds: float,
    env: Mapping[str, str],
) -> CommandResult:
    """Run `argv` in the folder `cwd` under `env` for at most so many `seconds`. Who is cancelled while it waits here
    ends it, and everything that it started. Raises `OSError` where it cannot be started."""
    process = await _started(argv, cwd, {**env, **_QUIET})
    started, output, late = time.monotonic(), _Output(), False
    reading = asyncio.create_task(_read(process, output))
    try:
        async with asyncio.timeout(seconds):
            await _exited(process)
        # What it left running in the background keeps the pipe open.
        await asyncio.wait([reading], timeout=_GRACE)
    except TimeoutError:
        late = True
    finally:
        await asyncio.shield(_end(process))
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
    text, left = output.result()
    return CommandResult(process.returncode or 0, text, left, time.monotonic() - started, late)


async def _started(argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> asyncio.subprocess.Process:
    """The running program. Who is cancelled while it starts ends it."""
    making = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            *argv,
            cwd=cwd,
            env=env,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
    )
    try:
        return await asyncio.shield(making)
    except asyncio.CancelledError:
        with suppress(OSError):
            await _end(await making)
        raise


async def _read(process: asyncio.subprocess.Process, output: _Output) -> None:
    assert process.stdout is not None
    while data := await process.stdout.read(65_536):
        output.take(data)


async def _exited(process: asyncio.subprocess.Process) -> None:
    """Wait until the program itself has ended; `wait` would wait for what it left running with its pipe, too."""
    while process.returncode is None:
        await asyncio.sleep(_LOOK)


async def _end(process: asyncio.subprocess.Process) -> None:
    """End what is left of the process's group."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGTERM if process.returncode is None else signal.SIGKILL)
    if process.returncode is None:
        with suppress(TimeoutError):
            async with asyncio.timeout(_GRACE):
                await _exited(process)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        await _exited(process)
