"""Run a program's whole process group with a time limit; keep its output up to a size."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

from msgspec import Struct

MAX_OUTPUT_BYTES: Final = 2_000_000
"""Bytes of output to keep, half from the start and half from the end."""
_GRACE: Final = 1.0
"""Seconds between SIGTERM and SIGKILL; also the wait for output of background processes."""
_QUIET_ENV: Final = {"PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0", "NO_COLOR": "1"}
"""Variables that keep programs from prompting, paging and colouring."""


class CommandResult(Struct, frozen=True):
    """The result of a program.

    - `code`: its exit code; for a signal that ended it, its negative number, or 128 more of a confined program.
    - `left_out`: bytes of output cut from the middle.
    - `late`: it was stopped at the time limit.
    - `notes`: sentences about changes that were refused, or a repository that could not be copied.
    """

    code: int
    text: str
    left_out: int
    seconds: float
    late: bool = False
    notes: tuple[str, ...] = ()


class _Output(asyncio.Protocol):
    """The first and the last bytes that are read from a pipe."""

    def __init__(self) -> None:
        self.closed = asyncio.Event()
        self._head = bytearray()
        self._tail = bytearray()
        self.size = 0

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed.set()

    def data_received(self, data: bytes) -> None:
        self.size += len(data)
        room = MAX_OUTPUT_BYTES // 2 - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > MAX_OUTPUT_BYTES:
            del self._tail[: len(self._tail) - MAX_OUTPUT_BYTES // 2]

    def result(self) -> tuple[str, int]:
        tail = self._tail[-(MAX_OUTPUT_BYTES // 2) :]
        cut_bytes = self.size - len(self._head) - len(tail)
        between = f"\n[{cut_bytes:,} bytes are left out]\n".encode() if cut_bytes else b""
        return (bytes(self._head) + between + bytes(tail)).decode("utf-8", "replace"), cut_bytes


def limit_memory(argv: Sequence[str], memory_mb: int) -> list[str]:
    """A command that runs `argv` with at most `memory_mb` of address space (0: no limit)."""
    if not memory_mb:
        return list(argv)
    return ["/bin/sh", "-c", 'ulimit -v "$0" && exec "$@"', str(memory_mb * 1024), *argv]


async def run_program(argv: Sequence[str], cwd: Path, seconds: float, env: Mapping[str, str]) -> CommandResult:
    """Run `argv` in the folder `cwd` for at most `seconds`.

    Cancelling this ends the program and its process group. Raises the errors of starting it.
    """
    started, late = time.monotonic(), False
    read_end, write_end = os.pipe()
    with open(read_end, "rb", buffering=0) as pipe, open(write_end, "wb", buffering=0) as stdout:
        transport, output = await asyncio.get_running_loop().connect_read_pipe(_Output, pipe)
        try:
            process = await _start_program(argv, cwd, {**env, **_QUIET_ENV}, stdout)
            stdout.close()
            try:
                async with asyncio.timeout(seconds):
                    await process.wait()
                # Background processes keep the pipe open.
                with suppress(TimeoutError):
                    await asyncio.wait_for(output.closed.wait(), _GRACE)
            except TimeoutError:
                late = True
            finally:
                await asyncio.shield(_end_group(process))
        finally:
            transport.close()
    text, cut_bytes = output.result()
    return CommandResult(process.returncode or 0, text, cut_bytes, time.monotonic() - started, late)


async def _start_program(
    argv: Sequence[str], cwd: Path, env: Mapping[str, str], stdout: IO[bytes]
) -> asyncio.subprocess.Process:
    """Start the program; cancelling this while it starts ends it."""
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            *argv,
            cwd=cwd,
            env=env,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=stdout,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
    )
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        with suppress(OSError):
            await _end_group(await starting)
        raise


async def _end_group(process: asyncio.subprocess.Process) -> None:
    """End all processes of the program's group."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGTERM if process.returncode is None else signal.SIGKILL)
    if process.returncode is None:
        with suppress(TimeoutError):
            async with asyncio.timeout(_GRACE):
                await process.wait()
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
