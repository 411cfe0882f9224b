"""The lab: a session under the ten usual variants against one simulated pass over it, in processor time.

A long recording of Claude Code, two of pi, one with a compaction in it (all of `CTXTUI_CORPUS`, left out without it),
and a made-up run of 1,000 calls whose context grows to 630,000 tokens. ``python -m benchmarks.lab`` says what each
variant takes.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from random import Random

from benchmarks.measure import Result, ratio
from ctxtui.analysis.lab.lab import run_experiment
from ctxtui.analysis.lab.variant import Variant
from ctxtui.core import canonical
from ctxtui.core.block import HEADER
from ctxtui.core.call import Call, Fidelity
from ctxtui.core.session import MAIN, CallSeen, Described, Session, TipMoved
from ctxtui.core.tree import ROOT
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.counting import Counter
from ctxtui.services.lab.experiment import freeze_loaded, lab_inputs_of_session
from ctxtui.services.lab.variants import make_variants
from ctxtui.services.recordings.open import load
from ctxtui.wire.registry import DIALECTS
from tests.analysis.lab.recordings import FRONT, START, reported
from tests.cases.long_runs import long_run

TARGET = 30.0
RECORDED = ("claude_code/happy-cli__400429ba.jsonl", "pi/compact.jsonl", "pi/large-session.jsonl")
CALLS, TURNS, LONGEST = 1000, 167, 80
"""Of the made-up run: calls, turns (six calls each), and how long its results are at most (`long_run`): some 630 tokens
a call, as the three recordings grow (410 to 970), of a model with a window of a million. So `budget` has nothing to do
in it; in the recordings it has."""


def sessions() -> Iterator[tuple[str, Callable[[], Session]]]:
    """What is timed, by name; each is read anew for every pass."""
    corpus = os.environ.get("CTXTUI_CORPUS")
    for name in RECORDED if corpus else ():
        path = Path(corpus or "") / name
        if path.is_file():
            yield name, lambda path=path: load(path).session  # type: ignore[misc]
    yield "made up", made_up


@cache
def conversation() -> bytes:
    """The body of the last request of the made-up run."""
    return canonical.dumps({**long_run(18, turns=TURNS, longest=LONGEST), "model": "claude-opus-5"})


def made_up() -> Session:
    """A transcript of that conversation: a call in front of every answer. Each message is read once."""
    request = DIALECTS["anthropic"].decode_request(conversation(), None)
    session, head, at = Session(), ROOT, START
    session.apply(Described(id="made up", title="made up"))
    ends: list[tuple[int, str]] = []
    for item in request.items:
        if item.block.kind == HEADER and head != ROOT:
            ends.append((head, item.place.role))
        head = session.tree.child(head, item.block, item.place)
    pauses = Random(18)
    for (sent, role), (reply, _) in pairwise([*ends, (head, "")]):
        if role == "assistant" and len(session.calls) < CALLS:
            number = len(session.calls) + 1
            session.apply(CallSeen(_call(f"call_{number}", sent, reply, at)))
            session.apply(TipMoved(MAIN, sent))
            at += pauses.choice([5.0, 40.0, 200.0, 400.0])
    return reported(session, FRONT)


def _call(name: str, sent: int, reply: int, at: float) -> Call:
    return Call(
        name,
        MAIN,
        raw_head=sent,
        sent_head=sent,
        response_head=reply,
        provider="anthropic",
        model="claude-opus-5",
        started=at,
        ended=at + 2,
        fidelity=Fidelity.TRANSCRIPT,
    )


def seconds(session: Session, tried: Sequence[Variant]) -> float:
    """The processor time of `tried`; what is counted once and kept is no part of it."""
    bench = lab_inputs_of_session(session, Counter(), Settings())
    # As the lab's own process does before it goes through a session.
    gc.collect()
    freeze_loaded()
    began = time.process_time()
    run_experiment(bench, tried)
    return time.process_time() - began


def results(folder: Path, runs: int) -> Iterator[Result]:
    """Ten variants over one pass."""
    for name, read in sessions():
        calls = len(read().calls)
        times, ours, floor = ratio(
            lambda read=read: seconds(read(), make_variants((), (), ())),  # type: ignore[misc]
            lambda read=read: seconds(read(), [Variant()]),  # type: ignore[misc]
            runs,
        )
        yield Result(
            "lab",
            f"10 variants of {name} ({calls:,} calls)",
            "one simulated pass",
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
        for one in make_variants((), (), ())[1:]:
            spent = seconds(read(), [one])
            print(f"  {one.policy:20} {spent:6.2f} s {spent / floor:6.1f}x", flush=True)


if __name__ == "__main__":
    main()
