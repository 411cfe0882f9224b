"""Two checkouts of ctxtui held against each other: the same runs in turn, each in a fresh process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.measure import Result, percentile
from benchmarks.sessions import home
from benchmarks.terminal import CTXTUI, PYTHON, Terminal

HERE = Path(__file__).resolve().parent.parent
LIMIT = 1.03
"""How much slower than the other checkout this one may be."""


@dataclass(frozen=True)
class Checkout:
    """A folder with ctxtui's source, run by this interpreter with a user's `home` of its own.

    Only the command line is used: where its modules are is its own affair.
    """

    root: Path
    home: Path

    @property
    def env(self) -> dict[str, str]:
        """The environment in which `ctxtui` is this checkout's, also for the processes that it starts."""
        return {**home(self.home), "PYTHONPATH": str(self.root), "PYTHONSAFEPATH": "1"}

    def start(self, *arguments: str) -> Terminal:
        """ctxtui with `arguments`, in a terminal."""
        return Terminal([*CTXTUI, *arguments], env=self.env)

    def check(self) -> None:
        """End the program with a message where `root` is no checkout of ctxtui."""
        asked = [PYTHON, "-c", "import ctxtui; print(ctxtui.__file__)"]
        said = subprocess.run(asked, env=self.env, capture_output=True, text=True, cwd="/").stdout.strip()
        if not said or not Path(said).is_relative_to(self.root):
            sys.exit(f"{self.root} is no checkout of ctxtui")


def compare(timed: Callable[[Checkout], Mapping[str, float]], folder: Path, other: Path, runs: int) -> list[Result]:
    """For each name that `timed` gives seconds for: the median over `runs` pairs of here / `other`.

    The side that goes first changes from pair to pair: what a run leaves behind in the machine must not count for
    one side only. One pair, in which modules are compiled, is a warm-up.
    """
    ours, theirs = Checkout(HERE, folder / "ours"), Checkout(other.resolve(), folder / "theirs")
    theirs.check()
    pairs = []
    for number in range(runs + 1):
        if number % 2:
            then = timed(theirs)
            pairs.append((timed(ours), then))
        else:
            pairs.append((timed(ours), timed(theirs)))
    del pairs[0]
    return [_result(name, [own[name] / then[name] for own, then in pairs], pairs) for name in pairs[0][0]]


def _result(name: str, ratios: list[float], pairs: list[tuple[Mapping[str, float], Mapping[str, float]]]) -> Result:
    own, then = (median(pair[side][name] for pair in pairs) * 1e3 for side in (0, 1))
    half = f"half of the pairs {percentile(ratios, 0.25):.3f} to {percentile(ratios, 0.75):.3f}"
    return Result(f"{name} / the other checkout's", median(ratios), LIMIT, note=f"{own:.1f} / {then:.1f} ms, {half}")
