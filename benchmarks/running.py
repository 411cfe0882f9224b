"""One module of the dashboard in a process of its own, with a limit of time: what it finds comes line by line, so that
whatever ends it takes its own rows along and no others.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from threading import Timer
from typing import Final

from benchmarks.measure import Result, not_run
from benchmarks.program_end import ProgramEnded
from benchmarks.registry import Family
from benchmarks.sessions import SAMPLES
from benchmarks.terminal import PYTHON

HERE: Final = Path(__file__).resolve().parent.parent
_LEAST: Final = 60
"""Seconds that every module may take."""
_GRACE: Final = 10
"""Seconds in which a module that is told to end closes what it started."""


class Run:
    """`family` measured once, with the packages in `root`: iterate over its rows. `failure` says why it did not come to
    its end ("": it did)."""

    def __init__(self, family: Family, runs: int, samples: Path, *, root: Path = HERE, patience: float = 3.0) -> None:
        self.family, self.failure = family, ""
        self._runs, self._samples, self._root = runs, samples, root
        self._late = False
        self._child: subprocess.Popen[str] | None = None
        self._limit = max(_LEAST, patience * family.seconds)

    def __iter__(self) -> Iterator[Result]:
        with ExitStack() as stack:
            said = stack.enter_context(tempfile.TemporaryFile("w+"))
            # A session of its own: it may start others, and all of them end with it.
            child = self._child = subprocess.Popen(
                [PYTHON, "-m", "benchmarks", "--family", self.family.module, "--runs", str(self._runs)],
                stdout=subprocess.PIPE,
                stderr=said,
                text=True,
                cwd=self._root,
                env={**os.environ, "PYTHONPATH": str(self._root), "PYTHONSAFEPATH": "1", SAMPLES: str(self._samples)},
                start_new_session=True,
            )
            stack.callback(_ended, child)
            timer = Timer(self._limit, self.stop)
            timer.start()
            stack.callback(timer.cancel)
            assert child.stdout is not None
            for line in child.stdout:
                yield Result.of(json.loads(line))
            code = child.wait()
            if self._late:
                self.failure = f"not done after {self._limit:.0f} s"
            elif code:
                said.seek(0)
                words = said.read().strip().splitlines()
                # All of it: the table has room for a line.
                print(*words, sep="\n", file=sys.stderr)
                self.failure = f"it failed: {words[-1] if words else f'exit code {code}'}"[:300]

    def stop(self) -> None:
        """Its time is up."""
        self._late = True
        if self._child is not None:
            _ended(self._child)

    def whole(self) -> Iterator[Result]:
        """Its rows, and one that says so where it did not come to its end."""
        yield from self
        if self.failure:
            yield not_run(self.family.goal, f"{self.family.module}, what else it measures", "", self.failure)


def _ended(child: subprocess.Popen[str]) -> None:
    """End a process with all that it started; it may close them itself."""
    for sign, grace in ((signal.SIGTERM, _GRACE), (signal.SIGKILL, None)):
        try:
            os.killpg(child.pid, sign)
        except ProcessLookupError:
            return
        try:
            child.wait(grace)
        except subprocess.TimeoutExpired:
            continue


def measure(module: str, runs: int) -> None:
    """What the process does: print each row of a module as JSON, as it is found."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory(prefix="ctxtui-bench-") as name:
        try:
            for result in import_module(f"benchmarks.{module}").results(Path(name), runs):
                print(json.dumps(result.as_fields()), flush=True)
        except ModuleNotFoundError as error:
            sys.exit(f"no module {error.name} there")
        except ProgramEnded as error:
            whole = str(error)
            print(whole, whole.splitlines()[0], sep="\n", file=sys.stderr)
            sys.exit(1)
