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
_Pair = tuple[dict[_Row, Result], dict[_Row, Result]]
"""The figures of a run here and of one with the other checkout's ctxtui."""


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

        What one side did not measure is not run, and says why. The side that goes first changes from pair to pair: what
        a run leaves behind in the machine must not count for one side only.
        """
        pairs: list[_Pair] = []
        failures: dict[Path, str] = {}
        for number in range(self._pairs):
            sides: dict[Path, dict[_Row, Result]] = {}
            for place in (self._root, HERE) if number % 2 else (HERE, self._root):
                run = Run(family, 1, self._samples, root=place, patience=patience)
                sides[place] = {(row.name, row.peer): row for row in run}
                if run.failure:
                    failures[place] = run.failure
            pairs.append((sides[HERE], sides[self._root]))
            if failures:
                break  # what one side cannot measure it will not measure in the next pair either
        rows = dict.fromkeys(row for pair in pairs for side in pair for row in side)
        told = {HERE: "here", self._root: "by the other checkout"}
        why = "; ".join(f"{told[place]}: {failure}" for place, failure in failures.items())
        if not rows:
            yield not_run(family.goal, family.module, "the other checkout", why or "nothing to measure")
        yield from (held(row, pairs, why) for row in rows)


def held(row: _Row, pairs: list[_Pair], why: str = "") -> Result:
    """One figure of both; `why` says what kept a side from measuring."""
    both = [(own.get(row), then.get(row)) for own, then in pairs]
    some = next(one for pair in both for one in pair if one is not None)
    known = [(a.value, b.value) for a, b in both if a and b and a.value is not None and b.value is not None]
    if not known:
        return not_run(some.goal, some.name, "the other checkout", _reason(both) or why or "not measured on both sides")
    own, then = median(a for a, _ in known), median(b for _, b in known)
    figures = f"{own:.3g} / {then:.3g} {some.unit}"
    if any(a != b and min(a, b) <= 0 for a, b in known):
        return not_run(some.goal, some.name, "the other checkout", f"{figures}: no ratio of these")
    ratios = [a / b if b else 1.0 for a, b in known]
    half = f"half of the pairs {percentile(ratios, 0.25):.3f} to {percentile(ratios, 0.75):.3f}"
    return Result(some.goal, some.name, "the other checkout", median(ratios), LIMIT, note=f"{figures}, {half}")


def _reason(both: list[tuple[Result | None, Result | None]]) -> str:
    """What the sides themselves say of a figure that they did not measure."""
    notes = [
        f"{side}: {one.note.removeprefix('not run: ')}"
        for pair in both
        for side, one in zip(("here", "by the other checkout"), pair, strict=True)
        if one is not None and one.value is None
    ]
    return "; ".join(dict.fromkeys(notes))
