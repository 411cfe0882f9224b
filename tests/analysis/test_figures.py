"""Figures add up, whatever is in them (law 7)."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import ctxtui
from ctxtui.analysis.figures import block_figures, figures, growth_points
from ctxtui.core import block
from ctxtui.core.call import Epoch, EpochStart, Fidelity
from ctxtui.core.session import MAIN, CallSeen
from ctxtui.core.usage import Usage
from ctxtui.tokens.models import parse_models
from tests.analysis.sessions import Script, book, thinking

TABLE = parse_models((Path(ctxtui.__file__).parent / "data/models.toml").read_text())
STRIPS, KEEPS, EXACT = "claude-opus-4-20250514", "claude-opus-4-5-20251101", "gpt-5.4"

words = st.lists(st.sampled_from(["a", "bb", "c\n", "déjà"]), min_size=1, max_size=30).map(" ".join)
part = (
    words.map(block.text)
    | words.map(thinking)
    | words.map(lambda w: block.from_part({"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": w}}))
    | words.map(lambda w: block.from_part({"type": "tool_result", "tool_use_id": "t", "content": w}))
)
rounds = st.lists(
    st.tuples(
        st.lists(part, min_size=1, max_size=4), st.lists(part, min_size=1, max_size=3), st.integers(0, 5000) | st.none()
    ),
    min_size=1,
    max_size=6,
)


@settings(max_examples=60)
@given(rounds, st.sampled_from([STRIPS, KEEPS, EXACT, "never-heard-of"]), st.sampled_from(list(Fidelity)))
def test_blocks_categories_and_residual_add_up_at_every_call(made: list, model: str, fidelity: Fidelity) -> None:
    script = Script(model, fidelity)
    for heard, answered, reported in made:
        script.hear(*heard).call(*answered, usage=None if reported is None else Usage(fresh=reported))
    counted = book(script.session, TABLE)
    for call in script.session.thread_calls(MAIN):
        got = figures(counted, call)
        rows = list(block_figures(counted, call))
        read = [r for r in rows if r.read]
        assert sum(r.tokens for r in read) + got.residual == got.context_tokens
        for name, tokens in got.categories.items():
            assert sum(r.tokens for r in read if r.category == name) == tokens
        assert sum(got.categories.values()) + (got.not_recorded or 0) + got.residual == got.context_tokens
        assert all(r.lo <= r.tokens <= r.hi for r in rows) and got.lo <= got.context_tokens <= got.hi
        assert got.reported is None or got.context_tokens == got.reported.input


def test_what_is_not_recorded_is_inferred_once_per_epoch_and_the_rest_is_residual() -> None:
    script = Script(KEEPS)
    script.hear(block.text("one two three")).call(block.text("x"), usage=Usage(fresh=10_000))
    script.hear(block.text("four")).call(block.text("y"), usage=Usage(fresh=10_050))
    script.epoch = Epoch(2, EpochStart.COMPACTION)
    script.hear(block.text("five")).call(block.text("z"), usage=Usage(fresh=7_000))
    counted = book(script.session, TABLE)
    first, second, third = (figures(counted, c) for c in script.session.thread_calls(MAIN))
    assert first.residual == 0 and first.not_recorded == second.not_recorded
    assert second.residual == 10_050 - sum(second.categories.values()) - (second.not_recorded or 0) != 0
    assert third.residual == 0 and third.not_recorded != first.not_recorded
    row = next(block_figures(counted, script.session.thread_calls(MAIN)[0]))
    assert (row.category, row.method, row.tokens) == ("not_recorded", "inferred", first.not_recorded)


def test_a_wire_recording_lacks_nothing() -> None:
    script = Script(KEEPS, Fidelity.WIRE)
    call = script.hear(block.text("one")).call(usage=Usage(fresh=10_000))
    got = figures(book(script.session, TABLE), call)
    assert got.not_recorded is None and got.residual > 9_900


@pytest.mark.parametrize(("model", "read"), [(STRIPS, False), (KEEPS, True)])
def test_thinking_of_earlier_turns_is_not_read_by_models_that_strip_it(model: str, read: bool) -> None:
    script = Script(model, Fidelity.WIRE)
    script.hear(block.text("go")).call(thinking("hm hm hm"), block.text("done"))
    call = script.hear(block.text("again")).call()
    counted = book(script.session, TABLE)
    row = next(r for r in block_figures(counted, call) if r.category == "thinking")
    assert row.read is read and ("thinking" in figures(counted, call).categories) is read


def test_without_a_report_the_method_says_how_the_sum_was_obtained() -> None:
    plain = Script(EXACT, Fidelity.WIRE, "openai")
    short = plain.hear(block.text("one two")).call()
    exact = figures(book(plain.session, TABLE), short)
    assert exact.method == "exact" and exact.lo == exact.context_tokens == exact.hi
    other = Script(KEEPS)
    long = other.hear(block.text("one two " * 50)).call()
    guessed = figures(book(other.session, TABLE), long)
    assert guessed.method == "guessed" and guessed.lo < guessed.context_tokens < guessed.hi


def test_until_it_is_counted_only_the_report_is_known() -> None:
    script = Script(KEEPS)
    call = script.hear(block.text("one")).call(usage=Usage(fresh=1234))
    got = figures(book(script.session, TABLE, limit=0), call)
    assert not got.counted and got.context_tokens == 1234 and got.categories == {}


def test_growth_counts_calls_from_one() -> None:
    script = Script(KEEPS)
    script.hear(block.text("one")).call(block.text("x"), usage=Usage(fresh=100))
    script.hear(block.text("two")).call(usage=None)
    points = growth_points(book(script.session, TABLE), MAIN)
    assert [(p.call, p.reported_input) for p in points] == [(1, 100), (2, None)] and points[0].context_tokens == 100


def test_a_call_that_another_model_turns_out_to_have_answered_is_counted_as_that_model_does() -> None:
    made = Script("claude-opus-4-5")
    call = made.hear(block.text("which model are you")).call(block.text("another"), usage=Usage(fresh=9, output=2))
    counted = book(made.session, TABLE)
    made.session.apply(CallSeen(replace(call, model="gpt-5.4")))
    counted.advance()
    assert figures(counted, made.session.calls[call.id]).counted
