"""Two checkouts of ctxtui held against each other: the same goal measured in turn, each run in a fresh process."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.measure import Result, not_run, percentile
from benchmarks.registry import Family
from benchmarks.terminal import PYTHON

HERE = Path(__file__).resolve().parent.parent
LIMIT = 1.03
"""How much slower than the other checkout this one may be."""
_OURS = ("benchmarks", "tests", "sessions", "docs")
"""What both sides run with: only ctxtui itself is another one."""


class NoCheckout(Exception):
    """The named folder holds no source of ctxtui."""


def overlay(other: Path, folder: Path) -> Path:
    """A folder in which `ctxtui` is that of the checkout `other`, and everything else ours."""
    source = other.resolve() / "ctxtui"
    if not (source / "__init__.py").is_file():
        raise NoCheckout(f"{other} is no checkout of ctxtui: it holds no ctxtui/__init__.py")
    folder.mkdir(parents=True)
    for name in _OURS:
        (folder / name).symlink_to(HERE / name)
    (folder / "ctxtui").symlink_to(source)
    return folder


def compare(family: Family, root: Path, runs: int) -> Iterator[Result]:
    """For each figure of `family`: the median over `runs` pairs of here / the checkout in the overlay `root`.

    The side that goes first changes from pair to pair: what a run leaves behind in the machine must not count for
    one side only. One pair, in which modules are compiled, is a warm-up.
    """
    pairs: list[tuple[dict[str, Result], dict[str, Result]]] = []
    for number in range(runs + 1):
        sides: dict[Path, dict[str, Result] | str] = {}
        for place in (root, HERE) if number % 2 else (HERE, root):
            sides[place] = _once(family, place)
            if isinstance(sides[place], str):
                who = "here" if place == HERE else "by the other checkout"
                yield not_run(family.goals[0], family.module, str(root), f"{who}: {sides[place]}")
                return
        ours, theirs = sides[HERE], sides[root]
        assert isinstance(ours, dict) and isinstance(theirs, dict)
        pairs.append((ours, theirs))
    yield from (_held(name, pairs[1:]) for name in pairs[0][0])


def _held(name: str, pairs: list[tuple[dict[str, Result], dict[str, Result]]]) -> Result:
    """One figure of both."""
    some = pairs[0][0][name]
    both = [(own[name].value, then[name].value) for own, then in pairs if name in then]
    known = [(a, b) for a, b in both if a is not None and b]
    if not known:
        return not_run(some.goal, name, "the other checkout", "not measured on both sides")
    ratios = [a / b for a, b in known]
    own, then = median(a for a, _ in known), median(b for _, b in known)
    half = f"half of the pairs {percentile(ratios, 0.25):.3f} to {percentile(ratios, 0.75):.3f}"
    note = f"{own:.3g} / {then:.3g} {some.unit}, {half}"
    return Result(some.goal, name, "the other checkout", median(ratios), LIMIT, note=note)


def _once(family: Family, root: Path) -> dict[str, Result] | str:
    """The figures of one run, or why there are none."""
    command = [PYTHON, "-m", "benchmarks", "--json", "--runs", "1", "--family", family.module]
    env = {**os.environ, "PYTHONPATH": str(root), "PYTHONSAFEPATH": "1"}
    run = subprocess.run(command, env=env, capture_output=True, text=True, cwd=root)
    try:
        rows = json.loads(run.stdout)["results"]
    except (json.JSONDecodeError, KeyError):
        said = run.stderr.strip().splitlines()
        return said[-1] if said else f"exit code {run.returncode}"
    return {row["name"]: Result.of(row) for row in rows}
