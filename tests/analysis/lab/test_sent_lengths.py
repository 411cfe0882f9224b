"""Prefixes in the lab are as long as reports told before: what is lacking of a recording, or counted wrong, stands
where a report first told of it."""

from __future__ import annotations

from random import Random

import pytest
from msgspec.structs import replace

from ctxtui.analysis.lab.lab import run_experiment
from ctxtui.analysis.lab.variant import Variant
from ctxtui.core.edit import make
from ctxtui.core.edit_kinds import TRUNCATE
from ctxtui.core.session import MAIN, CallSeen, Session
from ctxtui.curation.context import Context
from ctxtui.services.config.settings import Settings
from ctxtui.services.lab.experiment import lab_inputs_of_session
from tests.analysis.lab.recordings import COUNTER, START, grown, staged
from tests.cases.long_runs import long_run

FRONT = 20_000
"""Tokens that stand before everything recorded."""
LESS = 0.5
"""What a token that is counted really comes to."""

LATER = 4


def overcounted() -> Session:
    """A cached transcript whose reports grow by less than its blocks are counted as: what is lacking of it shrinks."""
    session = grown(long_run(6, turns=4), "anthropic", Random(6), wire=False)
    before = 0
    for number, call in enumerate(list(session.calls.values())):
        assert call.usage is not None
        told = FRONT + round(LESS * call.usage.input)
        call = replace(call, started=START + 10.0 * number, ended=START + 10.0 * number + 2)
        session.apply(
            CallSeen(replace(call, usage=replace(call.usage, fresh=0, cache_read=before, write_5m=told - before)))
        )
        before = told
    return session


@pytest.mark.parametrize("behind", [9, 14])
def test_what_is_read_behind_an_edit_is_as_long_as_was_reported(behind: int) -> None:
    """An edit right behind the context of one call, staged three calls later: that call's whole input is still read."""
    session = overcounted()
    calls = session.thread_calls(MAIN)
    context = Context.of_call(session.tree, calls[behind + 1])
    there = len(Context.of_call(session.tree, calls[behind]))
    at = next(
        p
        for p in range(there, len(context))
        if context.items[p].block.kind == "tool_result" and len(context.items[p].block.body) > 600
    )
    edit = make(TRUNCATE, [context.target(at)], {"head": 20, "tail": 0}, id="one")
    bench = lab_inputs_of_session(session, COUNTER, Settings())
    plain, cured = run_experiment(bench, [Variant(), staged(calls[behind + LATER :], [edit])])
    one, other = plain.calls[behind + LATER], cured.calls[behind + LATER]
    told = calls[behind].usage
    assert told is not None and one.read is not None and other.read is not None
    assert one.context - other.context > 50 and one.read > told.input
    assert other.read == pytest.approx(told.input, abs=80), "and its answer"
    again = cured.calls[behind + LATER + 1]
    assert again.read == pytest.approx(other.context, abs=40), "what it wrote is what the next one reads"
