"""``python -m benchmarks [NAME ...] [--runs N] [--against CHECKOUT]``: the table of ratios with their targets."""

from __future__ import annotations

import argparse
import sys
import tempfile
from functools import partial
from importlib import import_module
from pathlib import Path

ALL = (
    "paint", "parse", "keys", "heartbeat", "follow", "audit", "cache", "counting", "resize", "database",
    "record", "stream", "staging", "place", "listing", "preflight", "attach",
)  # fmt: skip
TWO = ("paint", "keys")
"""Those that can hold two checkouts against each other."""


def main() -> int:
    """Run the named benchmarks (all by default); the exit code is 1 when a target is missed."""
    options = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    options.add_argument("names", nargs="*", choices=[*ALL, []], help="which ones; all by default")
    options.add_argument("--runs", type=int, default=5, help="pairs of runs per ratio (default 5)")
    options.add_argument("--against", type=Path, metavar="CHECKOUT", help=f"time another one too: {', '.join(TWO)}")
    given = options.parse_args()
    if given.against and set(given.names) - set(TWO):
        options.error(f"--against goes with {' and '.join(TWO)} only")
    missed = 0
    with tempfile.TemporaryDirectory(prefix="ctxtui-bench-") as folder:
        for name in given.names or (TWO if given.against else ALL):
            benchmark = import_module(f"benchmarks.{name}")
            run = partial(benchmark.against, other=given.against) if given.against else benchmark.results
            for result in run(Path(folder), runs=given.runs):
                missed += not result.met
                aim = "" if result.target == float("inf") else f"<= {result.target:g}"
                mark = "ok " if result.met else "MISS"
                print(
                    f"{mark:4} {result.name:70} {result.value:8.3f} {result.unit:10} {aim:9} {result.note}", flush=True
                )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
