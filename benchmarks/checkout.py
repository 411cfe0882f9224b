"""Two checkouts of ctxtui held against each other: the same goal measured in turn, each run in a fresh process."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.measure import Result, not_run, percentile
from benchmarks.registry import Family
from benchmarks.running import HERE, Run
from benchmarks.terminal import PYTHON

LIMIT = 1.03
"""How much slower than the other checkout this one may be."""
_OURS = ("benchmarks", "tests", "sessions", "docs")
"""What both sides run with: only ctxtui itself is another one."""


_Row = tuple[str, str]
"""A figure's name and its peer: one name may be held against several."""


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


class Other:
    """Another checkout, laid out in `folder`; modules are measured in `pairs` of runs on the same `samples`."""

    def __init__(self, other: Path, folder: Path, samples: Path, pairs: int) -> None:
        self._root, self._samples, self._pairs = overlay(other, folder), samples, pairs
        for root in (self._root, HERE):
            # No run of either side compiles modules.
            subprocess.run([PYTHON, "-m", "compileall", "-q", "-j0", str((root / "ctxtui").resolve())], check=False)

    def compare(self, family: Family, patience: float) -> Iterator[Result]:
        """For each figure of `family`: the median over the pairs of here / the other checkout.

        The side that goes first changes from pair to pair: what a run leaves behind in the machine must not count for
        one side only.
        """
        pairs: list[tuple[dict[_Row, Result], dict[_Row, Result]]] = []
        for number in range(self._pairs):
            sides: dict[Path, dict[_Row, Result]] = {}
            for place in (self._root, HERE) if number % 2 else (HERE, self._root):
                run = Run(family, 1, self._samples, root=place, patience=patience)
                sides[place] = {(row.name, row.peer): row for row in run}
                if run.failure:
                    who = "here" if place == HERE else "by the other checkout"
                    yield not_run(family.goals[0], family.module, "the other checkout", f"{who}: {run.failure}")
                    break
            if len(sides) < 2:
                break
            pairs.append((sides[HERE], sides[self._root]))
        yield from (held(row, pairs) for row in (pairs[0][0] if pairs else ()))


def held(row: _Row, pairs: list[tuple[dict[_Row, Result], dict[_Row, Result]]]) -> Result:
    """One figure of both."""
    some = pairs[0][0][row]
    both = [(own[row].value, then[row].value) for own, then in pairs if row in own and row in then]
    known = [(a, b) for a, b in both if a is not None and (b or a == b)]
    if not known:
        return not_run(some.goal, some.name, "the other checkout", "not measured on both sides")
    ratios = [a / b if b else 1.0 for a, b in known]
    own, then = median(a for a, _ in known), median(b for _, b in known)
    half = f"half of the pairs {percentile(ratios, 0.25):.3f} to {percentile(ratios, 0.75):.3f}"
    note = f"{own:.3g} / {then:.3g} {some.unit}, {half}"
    return Result(some.goal, some.name, "the other checkout", median(ratios), LIMIT, note=note)
