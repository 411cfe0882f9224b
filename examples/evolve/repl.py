"""The root's ``repl`` block: found in its reply, run in a sandbox, with functions that reach out of it."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import sys
import tempfile
import threading
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ctxtui.api import run_confined

SECONDS = 3600.0
"""For a block; its children may be at work for minutes."""
_INSIDE = Path(__file__).with_name("repl_inside.py")
_BLOCK = re.compile(r"^```repl[ \t]*\n(.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)

Function = Callable[[Mapping[str, Any]], Awaitable[Any]]
"""Gets the arguments by name; what it raises as `ValueError` or `LookupError` is raised in the block."""


@dataclass(frozen=True)
class Ran:
    """What a block printed, its traceback in it where it failed."""

    output: str
    failed: bool


def blocks(reply: str) -> list[str]:
    """The fenced ``repl`` blocks of a reply."""
    return [found[1] for found in _BLOCK.finditer(reply)]


async def run(code: str, functions: Mapping[str, tuple[tuple[str, ...], Function]], *, unconfined: bool = False) -> Ran:
    """Run `code`, which may call the `functions` (their parameters' names, and what they do)."""
    with tempfile.TemporaryDirectory(prefix="evolve-repl-") as made:
        folder = Path(made)
        (folder / "block.py").write_text(code, encoding="utf-8")
        told = {name: names for name, (names, _) in functions.items()}
        (folder / "functions.json").write_text(json.dumps(told), encoding="utf-8")
        server = _Server(folder, functions)
        try:
            # A copy: the sandbox shows nothing else of the folders for temporary files, where these sources may lie.
            inside = Path(shutil.copy(_INSIDE, folder))
            argv = [sys.executable, "-I", "-S", str(inside), str(folder)]
            done = await run_confined(argv, folder, seconds=SECONDS, unconfined=unconfined)
        finally:
            await asyncio.to_thread(server.close)
    late = f"\nThe block was ended after {SECONDS:.0f} seconds." if done.late else ""
    return Ran(done.text.rstrip("\n") + late, bool(done.code) or done.late)


class _Server:
    """Does what a block calls. Calls and answers go through named pipes in the block's own folder, which is all that it
    reaches; a thread waits for them and hands them to the event loop."""

    def __init__(self, folder: Path, functions: Mapping[str, tuple[tuple[str, ...], Function]]) -> None:
        self._functions = functions
        self._loop = asyncio.get_running_loop()
        for name in ("calls", "answers"):
            os.mkfifo(folder / name)
        # Both ways, so that neither opening waits for the other end nor the end of the block closes the pipe.
        self._calls = os.fdopen(os.open(folder / "calls", os.O_RDWR), "rb", buffering=0)
        self._answers = os.open(folder / "answers", os.O_RDWR)
        self._end = os.open(folder / "calls", os.O_WRONLY)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening; for a worker thread."""
        os.write(self._end, b"\nend\n")
        self._thread.join()
        self._calls.close()
        os.close(self._answers)
        os.close(self._end)

    def _serve(self) -> None:
        kept = b""
        while True:
            kept += os.read(self._calls.fileno(), 65_536)
            *lines, kept = kept.split(b"\n")
            for line in lines:
                if line == b"end":
                    return
                if line:
                    self._answer(line)

    def _answer(self, line: bytes) -> None:
        answer = asyncio.run_coroutine_threadsafe(self._done(line), self._loop).result()
        data = (json.dumps(answer) + "\n").encode()
        while data:
            data = data[os.write(self._answers, data) :]

    async def _done(self, line: bytes) -> dict[str, Any]:
        try:
            asked = json.loads(line)
            _, work = self._functions[asked["call"]]
            return {"result": await work(asked["given"])}
        except (ValueError, LookupError, TypeError) as error:
            return {"error": str(error)}
