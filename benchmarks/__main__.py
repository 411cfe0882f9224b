"""``python -m benchmarks [--only start,keys] [--runs N] [--json] [--against CHECKOUT]``: every goal and its limit.

Prints one line for each figure: its goal, what it is held against (the peer), the figure, its limit and the margin.
The sides of a ratio are run in turn, the ratio is taken pair by pair and the median quoted, of as few pairs as its
spread allows and at most ``--runs``; processor time counts where elapsed time would be noise. A peer that is not
installed is *not run* (`benchmarks.peers` says where they are looked for), and so is what a module had still to measure
when it failed, or took more than ``--patience`` times its usual time. ``--write`` puts the whole table on record
(docs/speed.json, docs/speed.md). Exit code 1: a limit is missed, or something failed.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks import checkout, speed_page, table
from benchmarks.measure import Result
from benchmarks.registry import Family, chosen, goals
from benchmarks.running import Run, measure

RUNS, PAIRS_OF_CHECKOUTS = 5, 3


def main() -> int:
    """Run what is asked for (everything by default)."""
    options = _options()
    given = options.parse_args()
    if given.family:
        measure(given.family, given.runs or RUNS)
        return 0
    names = [*given.names, *(one for one in given.only.split(",") if one)]
    wrong = set(names) - set(goals())
    if wrong:
        options.error(f"no such goal: {', '.join(sorted(wrong))}; there are {', '.join(goals())}")
    if given.write and given.against:
        options.error("--write puts figures on record, not those of another checkout beside them")
    if given.write and names:
        options.error("--write puts the whole table on record: leave out the names")
    found: list[Result] = []
    took: dict[str, float] = {}
    failed: list[str] = []
    begun = time.monotonic()
    if not given.json:
        print(table.head(), flush=True)
    try:
        for result in _run(chosen(names), given, took, failed):
            found.append(result)
            if not given.json:
                print(table.line(result), flush=True)
    except checkout.NoCheckout as error:
        options.error(str(error))
    seconds = time.monotonic() - begun
    if given.json:
        each = {name: round(one) for name, one in took.items()}
        rows = [one.as_fields() for one in found]
        print(json.dumps({"seconds": round(seconds), "modules": each, "results": rows}, indent=1))
    else:
        missed, idle = sum(not one.met for one in found), sum(one.value is None for one in found)
        print(f"{len(found)} figures, {missed} missed, {idle} not run, {seconds / 60:.1f} minutes")
    if given.write:
        speed_page.write(found, seconds)
    return 1 if failed or any(not one.met for one in found) else 0


def _options() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("names", nargs="*", help=f"goals, as with --only: {', '.join(goals())}")
    options.add_argument("--only", default="", help="goals, separated by commas: start,keys")
    options.add_argument(
        "--runs",
        type=int,
        help=f"the most pairs of runs per ratio ({RUNS}); with --against pairs of each module ({PAIRS_OF_CHECKOUTS})",
    )
    options.add_argument(
        "--patience", type=float, default=3.0, metavar="TIMES", help="how long a module may take (default 3)"
    )
    options.add_argument(
        "--against", type=Path, metavar="CHECKOUT", help="hold every figure against another checkout's"
    )
    options.add_argument("--json", action="store_true", help="print JSON, when everything has run")
    options.add_argument("--write", action="store_true", help="put the table on record and into the documents")
    options.add_argument("--family", help=argparse.SUPPRESS)
    return options


def _run(
    families: list[Family], given: argparse.Namespace, took: dict[str, float], failed: list[str]
) -> Iterator[Result]:
    """The figures, one after the other; `took` is told the seconds of each module, `failed` of those that could not
    measure theirs. Nobody waits for them: what takes long and what fails says so, and the others are measured."""
    with tempfile.TemporaryDirectory(prefix="ctxtui-bench-") as name:
        samples = Path(name) / "samples"
        samples.mkdir()
        pairs = given.runs or PAIRS_OF_CHECKOUTS
        other = checkout.Other(given.against, Path(name) / "other", samples, pairs) if given.against else None
        for family in families:
            began = time.monotonic()
            if other is not None:
                yield from other.compare(family, given.patience)
            else:
                run = Run(family, given.runs or RUNS, samples, patience=given.patience)
                yield from run.whole()
                failed += [family.module] if run.failure else []
            took[family.module] = time.monotonic() - began
            if not given.json:
                print(f"     {family.module}: {took[family.module]:.0f} s", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
