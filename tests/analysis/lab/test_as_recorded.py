"""The simulation of a recording comes within 2 % of what was reported, or says why not; it copies no report."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace

from ctxtui.analysis.lab.deviation import MAX_DEVIATION
from ctxtui.analysis.lab.lab import run_experiment
from ctxtui.analysis.lab.recorded_steps import simulated_calls
from ctxtui.analysis.lab.report import session_lab
from ctxtui.analysis.lab.variant import Variant, VariantRun
from ctxtui.core.call import Call
from ctxtui.core.errors import CtxtuiError
from ctxtui.core.session import CallSeen, Session
from ctxtui.services.config.settings import Settings
from ctxtui.services.lab.experiment import lab_inputs_of_session
from ctxtui.services.recordings.open import load
from tests.analysis.lab.recordings import COUNTER, grown
from tests.analysis.test_residual_law import LOOK_ALIKES, SAMPLES
from tests.cases.long_runs import long_run
from tests.corpus import every_recording

FEWEST = 8
"""Reports of a session from which on one of them may not move its own call."""
MADE = {
    **LOOK_ALIKES,
    **{sample.stem: partial(lambda path: load(path).session, sample) for sample in SAMPLES},
    "a transcript": lambda: grown(long_run(3, turns=4), "anthropic", Random(3), wire=False),
    "a wire recording": lambda: grown(long_run(4, turns=4), "anthropic", Random(4)),
}


def as_recorded(session: Session) -> tuple[VariantRun, list[Call], tuple[str, ...]]:
    bench = lab_inputs_of_session(session, COUNTER, Settings())
    runs = run_experiment(bench, [Variant()])
    return runs[0], simulated_calls(session), session_lab(bench, runs, "it").notes


def unsaid(session: Session) -> list[str]:
    """What is off by more than 2 % of the reported input, with no sentence about it."""
    own, calls, notes = as_recorded(session)
    told = sum(call.usage.input for call in calls if call.usage is not None)
    if not own.calls or any(call.usage is None for call in calls) or not told:
        # Nothing to hold it against: then that is said.
        return [] if notes or not session.calls else ["no word of what is lacking"]
    off = (own.total - told) / told
    found = (
        [f"input {off:+.3f}"] if abs(off) > MAX_DEVIATION and not _says(notes, r"is off by [+-][\d.]+ %: \w+") else []
    )
    read = own.sum_of("read")
    if read is None:
        return found if _says(notes, "read, write and fresh are not known: ") else [*found, "no word of the cache"]
    gap = (read - sum(call.usage.cache_read for call in calls if call.usage is not None)) / told
    excused = _says(notes, r"the simulation reads [\d.]+ % of the input") or abs(gap - off) <= MAX_DEVIATION
    return found if abs(gap) <= MAX_DEVIATION or excused else [*found, f"read {gap:+.3f}"]


def _says(notes: tuple[str, ...], pattern: str) -> bool:
    return any(re.search(pattern, note) for note in notes)


def looks_at_its_own_report(session: Session, sample: int, rng: Random) -> list[str]:
    """Calls whose context follows their own report: told to have come to half as much again, they may not be counted
    as more than 2 % more."""
    _, calls, _ = as_recorded(session)
    reported = [call for call in calls if call.usage is not None and call.usage.input > 1_000]
    # What a token is worth is learnt from all reports: one of a few weighs much among them.
    reported = reported if len(reported) >= FEWEST else []
    found = []
    for call in rng.sample(reported, min(sample, len(reported))):
        assert call.usage is not None
        before = _context(session, call)
        session.apply(
            CallSeen(replace(call, usage=replace(call.usage, fresh=call.usage.fresh + call.usage.input // 2)))
        )
        after = _context(session, call)
        session.apply(CallSeen(call))
        if abs(after - before) > MAX_DEVIATION * max(before, call.usage.input):
            found.append(f"{call.id}: {before} became {after}")
    return found


def _context(session: Session, call: Call) -> int:
    return next(one.context for one in as_recorded(session)[0].calls if one.id == call.id)


@pytest.mark.parametrize("name", MADE)
def test_it_comes_to_what_was_reported_or_says_why_not(name: str) -> None:
    assert unsaid(MADE[name]()) == []


@pytest.mark.parametrize("name", ["a transcript", "a wire recording", "evolution"])
def test_no_call_is_counted_by_its_own_report(name: str) -> None:
    assert looks_at_its_own_report(MADE[name](), 4, Random(name)) == []


def test_a_long_transcript_is_within_two_per_cent() -> None:
    own, calls, notes = as_recorded(MADE["a transcript"]())
    later = list(zip(own.calls, calls, strict=True))[1:]
    counted, told = sum(one.context for one, _ in later), sum(call.usage.input for _, call in later if call.usage)
    assert abs(counted - told) <= MAX_DEVIATION * told
    assert not _says(notes, "reads .* more")


def test_a_cache_that_lost_what_it_held_is_said_to_have() -> None:
    """Where the provider read nothing though all was written a moment before, the reason names the calls."""
    session = grown(long_run(5, turns=6), "anthropic", Random(5), wire=False)
    first = next(iter(session.calls.values()))
    assert first.usage is not None
    session.apply(CallSeen(replace(first, usage=replace(first.usage, fresh=0, write_5m=first.usage.fresh))))
    own = as_recorded(session)[0]
    for call, one in zip(list(session.calls.values()), own.calls, strict=True):
        assert call.usage is not None and one.write is not None and one.fresh is not None
        lost = replace(call.usage, fresh=one.fresh, write_5m=one.context - one.fresh, cache_read=0)
        session.apply(CallSeen(replace(call, usage=lost)))
    notes = as_recorded(session)[2]
    assert _says(
        notes, r"more than was reported: in \d+ of \d+ calls, most in call \d+ \([\d,]+ tokens\), the provider"
    )


@pytest.mark.slow
@pytest.mark.parametrize("path", every_recording())
def test_so_does_every_recording(path: Path) -> None:
    try:
        session = load(path).session
    except CtxtuiError:
        pytest.skip("holds no context")
    assert unsaid(session) == []
    assert looks_at_its_own_report(session, 2, Random(path.name)) == []
