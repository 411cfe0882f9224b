"""Why a simulated figure deviates from the reports: one sentence for the input, one for the reads."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from ctxtui.analysis.lab.deviation import explain_deviations
from ctxtui.analysis.lab.variant import VariantCall
from ctxtui.core.call import Call, Epoch, Fidelity
from ctxtui.core.usage import Usage
from ctxtui.services.config.package_data import model_table
from tests.analysis.sessions import Script, book

WIRE = Fidelity.WIRE


def call(
    usage: Usage, *, thread: str = "main", epoch: int = 0, fidelity: Fidelity = WIRE, model: str = "gpt-5"
) -> Call:
    made = Script(model, fidelity).call(usage=usage)
    return replace(made, thread=thread, epoch=Epoch(epoch))


def simulated(number: int, context: int, read: int | None) -> VariantCall:
    return VariantCall(
        id=str(number), number=number, thread="main", head=0, context=context, read=read, write=None, fresh=None,
        output=None, usage=None, usd=None, rewrites=False, over=False,
    )  # fmt: skip


def explain(*pairs: tuple[Call, int, int | None]) -> list[str]:
    made = book(Script("gpt-5").session, model_table())
    counted = [simulated(number, context, read) for number, (_, context, read) in enumerate(pairs, 1)]
    return list(explain_deviations(made, [each for each, *_ in pairs], counted))


def test_what_deviates_little_or_is_not_simulated_needs_no_sentence() -> None:
    assert explain((call(Usage(fresh=1000)), 990, 10), (call(Usage(fresh=1000)), 1000, 0)) == []
    assert explain((call(Usage(fresh=1000)), 1000, None), (call(Usage(fresh=1000)), 1000, 900)) == []


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        (
            ((call(Usage(fresh=1000), fidelity=Fidelity.TRANSCRIPT), 600, 0), (call(Usage(fresh=9), thread="b"), 9, 0)),
            "-39.6 %: 400 tokens of system prompt and tools in the first call are not recorded, and no earlier report "
            "shows their size",
        ),
        (
            (
                (call(Usage(fresh=500), fidelity=Fidelity.TRANSCRIPT), 600, 0),
                (call(Usage(fresh=500), fidelity=Fidelity.TRANSCRIPT, thread="b"), 600, 0),
            ),
            "+20.0 %: the first calls of 2 threads had 200 tokens less than their recorded blocks count",
        ),
        (
            ((call(Usage(fresh=1000)), 1000, 0), (call(Usage(fresh=1000), epoch=1), 1400, 0)),
            "+20.0 %: 400 tokens fewer were reported than counted, after a restart, compaction or change of model",
        ),
        (
            ((call(Usage(fresh=1000)), 1000, 0), (call(Usage(fresh=1000), epoch=1), 600, 0)),
            "-20.0 %: 400 tokens are not recorded, after a restart, compaction or change of model",
        ),
        (
            ((call(Usage(fresh=1000)), 600, 0),),
            "-40.0 %: 400 reported tokens are in no recorded block: the recording is incomplete",
        ),
        (
            ((call(Usage(fresh=1000)), 900, 0),),
            "-10.0 %: blocks are counted (exact tokens), without the call's own report",
        ),
        (
            ((call(Usage(fresh=1000), model="claude-opus-4-5"), 900, 0),),
            "-10.0 %: blocks are counted (guessed tokens), without the call's own report",
        ),
    ],
)  # fmt: skip
def test_the_input_s_deviation_has_its_cause(pairs: tuple[tuple[Call, int, int | None], ...], expected: str) -> None:
    assert explain(*pairs) == [f"the simulation is off by {expected}"]


def test_reads_that_deviate_by_themselves_name_the_calls() -> None:
    first = call(Usage(fresh=1000))
    assert explain((first, 1000, 0), (call(Usage(fresh=500, cache_read=500)), 1000, 900)) == [
        "the simulation reads 20.0 % of the input more than was reported: in 1 of 2 calls, most in call 2 "
        "(400 tokens), the provider read less than was written and had not expired"
    ]
    assert explain((first, 1000, 0), (call(Usage(fresh=100, cache_read=900)), 1000, 500)) == [
        "the simulation reads 20.0 % of the input less than was reported: in 1 of 2 calls, most in call 2 "
        "(400 tokens), the provider read entries that no recorded call wrote: from other sessions, or kept "
        "longer than its rules say"
    ]
