"""The lab: a session under the ten usual variants against one simulated pass over it, in processor time.

A long recording of Claude Code, one of pi with a compaction in it (both of `CTXTUI_CORPUS`, left out without it), and a
made-up run of some 1,100 calls. ``python -m benchmarks.lab`` says what each variant takes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random

from benchmarks.measure import Result, ratio
from ctxtui.analysis.lab.lab import experiment
from ctxtui.analysis.lab.variant import Variant
from ctxtui.core.session import Session
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.books import book_for
from ctxtui.services.counting.counting import Counter, count_all
from ctxtui.services.lab.experiment import bench_for
from ctxtui.services.lab.variants import variants
from ctxtui.services.recordings.open import load

TARGET = 15.0
RECORDED = ("claude_code/happy-cli__400429ba.jsonl", "pi/compact.jsonl", "pi/large-session.jsonl")
TURNS = 180
"""Of the made-up run: six calls each."""


def sessions() -> Iterator[tuple[str, Callable[[], Session]]]:
    """What is timed, by name; each is read anew for every pass."""
    corpus = os.environ.get("CTXTUI_CORPUS")
    for name in RECORDED if corpus else ():
        path = Path(corpus or "") / name
        if path.is_file():
            yield name, lambda path=path: load(path).session  # type: ignore[misc]
    yield "made up", made_up


def made_up() -> Session:
    """A run as the tests make them."""
    from tests.analysis.lab.recordings import grown
    from tests.cases.long_runs import long_run

    return grown(long_run(18, turns=TURNS), "anthropic", Random(18), wire=False)


def seconds(session: Session, tried: Sequence[Variant]) -> float:
    """The processor time of `tried`; what is counted once and kept is no part of it."""
    counter = Counter()
    book = book_for(session, counter, Settings())
    count_all(book, counter)
    bench = bench_for(book, Settings())
    began = time.process_time()
    experiment(bench, tried)
    return time.process_time() - began


def results(folder: Path, runs: int) -> Iterator[Result]:
    """Ten variants over one pass."""
    for name, read in sessions():
        calls = len(read().calls)
        times, ours, floor = ratio(
            lambda read=read: seconds(read(), variants((), (), ())),  # type: ignore[misc]
            lambda read=read: seconds(read(), [Variant()]),  # type: ignore[misc]
            runs,
        )
        yield Result(
            f"lab, 10 variants of {name} ({calls:,} calls) / one pass",
            times,
            TARGET,
            "x",
            f"{ours:.2f} s / {floor:.2f} s",
        )


def main() -> None:
    """Each variant alone, over one pass."""
    for name, read in sessions():
        floor = min(seconds(read(), [Variant()]) for _ in range(3))
        print(f"{name}: one pass {floor:.2f} s")
        for one in variants((), (), ())[1:]:
            spent = seconds(read(), [one])
            print(f"  {one.policy:20} {spent:6.2f} s {spent / floor:6.1f}x", flush=True)


if __name__ == "__main__":
    main()
