"""The problem: 26 circles in the unit square, the sum of their radii as large as possible. Programs run in a sandbox;
what they return is judged here, out of their reach."""

from __future__ import annotations

import asyncio
import json
import math
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ctxtui.api import run_confined

CIRCLES = 26
TARGET = 2.635
"""The best sum that was published when the search was made."""
SLACK = 1e-9
"""By how much a circle may leave the square or reach into another one."""
SECONDS = 60
"""For all programs of a generation together."""
_INSIDE = Path(__file__).with_name("packing_inside.py")

Metrics = dict[str, Any]


def judged(found: object) -> tuple[Metrics, str]:
    """The metrics of what a program returned (centres, radii, perhaps their sum), and why it is invalid ("": it is
    valid). An invalid packing scores 0."""
    try:
        centres, radii = _circles(found)
    except (TypeError, ValueError, LookupError) as error:
        return _metrics(0.0), f"not a packing: {error}"
    wrong = _wrong(centres, radii)
    return (_metrics(0.0), wrong) if wrong else (_metrics(math.fsum(radii), valid=True), "")


def _metrics(total: float, *, valid: bool = False) -> Metrics:
    return {"valid": valid, "sum_radii": total, "target_ratio": total / TARGET, "circles": CIRCLES, "target": TARGET}


def _circles(found: object) -> tuple[list[tuple[float, float]], list[float]]:
    if not isinstance(found, Sequence) or len(found) < 2:
        raise ValueError("construct_packing() returns centres, radii and their sum")
    return [(float(x), float(y)) for x, y in found[0]], [float(radius) for radius in found[1]]


def _wrong(centres: Sequence[tuple[float, float]], radii: Sequence[float]) -> str:
    if len(centres) != CIRCLES or len(radii) != CIRCLES:
        return f"{len(centres)} centres and {len(radii)} radii instead of {CIRCLES}"
    for n, ((x, y), radius) in enumerate(zip(centres, radii, strict=True)):
        if not all(map(math.isfinite, (x, y, radius))) or radius < 0:
            return f"circle {n} is no circle: {x}, {y}, {radius}"
        if min(x, y, 1 - x, 1 - y) < radius - SLACK:
            return f"circle {n} leaves the square"
    for n, centre in enumerate(centres):
        for other in range(n):
            if math.dist(centre, centres[other]) < radii[n] + radii[other] - SLACK:
                return f"circles {other} and {n} overlap"
    return ""


class Evaluator:
    """Runs programs and judges what they return. A program that ran before is not run again: it has no chance in it
    that a judge could not see."""

    def __init__(self, *, unconfined: bool = False) -> None:
        self.unconfined = unconfined
        self._known: dict[str, tuple[Metrics, str]] = {}
        self.ran = 0

    async def evaluate(self, programs: Sequence[str]) -> list[tuple[Metrics, str]]:
        """The metrics of each program, and what is wrong with it ("": nothing)."""
        new = [code for code in dict.fromkeys(programs) if code not in self._known]
        if new:
            self.ran += len(new)
            self._known.update(zip(new, await self._run(new), strict=True))
        return [self._known[code] for code in programs]

    async def _run(self, programs: Sequence[str]) -> list[tuple[Metrics, str]]:
        with tempfile.TemporaryDirectory(prefix="evolve-") as made:
            folder = Path(made)
            (folder / "programs.json").write_text(json.dumps(list(programs)), encoding="utf-8")
            # A copy: the sandbox shows nothing else of the folders for temporary files, where these sources may lie.
            inside = Path(shutil.copy(_INSIDE, folder))
            argv = [sys.executable, "-I", str(inside), str(folder), str(SECONDS)]
            done = await run_confined(argv, folder, seconds=SECONDS + 10, unconfined=self.unconfined)
            found = await asyncio.to_thread(_read, folder / "results.json")
        if found is None:
            return [(_metrics(0.0), f"could not be run: {done.text.strip()[-300:]}") for _ in programs]
        return [_result(one) for one in found]


def _read(path: Path) -> list[Mapping[str, Any]] | None:
    if not path.exists():
        return None
    found: list[Mapping[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return found


def _result(one: Mapping[str, Any]) -> tuple[Metrics, str]:
    if one.get("error"):
        return _metrics(0.0), str(one["error"])
    return judged(one.get("found"))
