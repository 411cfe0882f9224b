"""``python -m benchmarks [--only G3,G7] [--runs N] [--json] [--against CHECKOUT]``: every goal of speed and its limit.

Prints one line for each figure: its goal, what it is held against (the peer), the figure, its limit and the margin.
The sides of a ratio are run in turn, the ratio is taken pair by pair and the median quoted; processor time counts where
elapsed time would be noise. A peer that is not installed is *not run* (`benchmarks.peers` says where they are looked
for). ``--write`` puts the whole table on record (docs/speed.json, docs/speed.md, README.md). Exit code 1: a limit is
missed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks import checkout, speed_page, table
from benchmarks.measure import Result, not_run
from benchmarks.registry import FAMILIES, Family, chosen, goals


def main() -> int:
    """Run what is asked for (everything by default)."""
    options = _options()
    given = options.parse_args()
    names = [*given.names, *(one for one in given.only.split(",") if one)]
    wrong = set(names) - set(goals())
    if wrong:
        options.error(f"no such goal: {', '.join(sorted(wrong))}; there are {', '.join(goals())}")
    families = [one for one in FAMILIES if one.module == given.family] if given.family else chosen(names)
    if given.write and (given.against or given.family):
        options.error("--write puts figures on record, not those of another checkout beside them")
    found: list[Result] = []
    failed: list[str] = []
    begun = time.monotonic()
    if not given.json:
        print(table.head(), flush=True)
    try:
        for result in _run(families, given.runs, given.against, failed):
            found.append(result)
            if not given.json:
                print(table.line(result), flush=True)
    except checkout.NoCheckout as error:
        options.error(str(error))
    took = time.monotonic() - begun
    if given.json:
        print(json.dumps({"seconds": round(took), "results": [one.as_fields() for one in found]}, indent=1))
    else:
        missed, idle = sum(not one.met for one in found), sum(one.value is None for one in found)
        print(f"{len(found)} figures, {missed} missed, {idle} not run, {took / 60:.1f} minutes")
    if given.write:
        speed_page.write(found, took, whole=not names)
    return 1 if failed or any(not one.met for one in found) else 0


def _options() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("names", nargs="*", help=f"goals, as with --only: {', '.join(goals())}")
    options.add_argument("--only", default="", help="goals, separated by commas: G3,G7")
    options.add_argument("--runs", type=int, default=5, help="pairs of runs per ratio (default 5)")
    options.add_argument(
        "--against", type=Path, metavar="CHECKOUT", help="hold every figure against another checkout's"
    )
    options.add_argument("--json", action="store_true", help="print JSON, when everything has run")
    options.add_argument("--write", action="store_true", help="put the table on record and into the documents")
    options.add_argument("--family", choices=[one.module for one in FAMILIES], help=argparse.SUPPRESS)
    return options


def _run(families: list[Family], runs: int, other: Path | None, failed: list[str]) -> Iterator[Result]:
    """The figures, one after the other; `failed` is told of modules that could not measure theirs."""
    with tempfile.TemporaryDirectory(prefix="ctxtui-bench-") as name:
        folder = Path(name)
        root = checkout.overlay(other, folder / "other") if other else None
        for family in families:
            if root is not None:
                yield from checkout.compare(family, root, runs)
                continue
            try:
                module = family.load()
            except ImportError as error:
                # A checkout of another day may lack what is measured.
                yield not_run(family.goals[0], family.module, "", str(error))
                continue
            try:
                yield from module.results(folder, runs)
            except (AssertionError, OSError, subprocess.SubprocessError) as error:
                # The others are measured all the same.
                failed.append(family.module)
                yield not_run(family.goals[0], family.module, "", f"it failed: {error!r}"[:300])


if __name__ == "__main__":
    sys.exit(main())
