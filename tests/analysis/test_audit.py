"""Forecasts come from earlier calls alone, learn from reports, and say why they were off."""

from __future__ import annotations

import random
from itertools import pairwise
from statistics import median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ctxtui.analysis.audit import (
    MAX_ERROR_SHARE,
    MIN_TOKENS,
    AuditedCall,
    audit_calls,
    build_record,
    percentile,
    summarize,
)
from ctxtui.analysis.figures import block_figures, figures
from ctxtui.analysis.running_totals import RunningTotals
from ctxtui.core import block
from ctxtui.core.call import Epoch, EpochStart
from ctxtui.core.session import MAIN, CallSeen, Session
from ctxtui.core.usage import Usage
from tests.analysis.audits import CODEX, OPUS4, OPUS45, counted, loop, report, result, rows, speech, start, tool
from tests.analysis.sessions import Script, book, thinking


def error(row: AuditedCall) -> float:
    return abs(row.new_predicted - row.new_reported) / max(row.new_reported, MIN_TOKENS)


@pytest.mark.parametrize("model", [OPUS45, "a-model-nobody-knows"])
@pytest.mark.parametrize("final", [True, False])
def test_a_session_teaches_its_own_weights(model: str, final: bool) -> None:
    script = Script(model)
    loop(script, 60, final)
    found = rows(script)
    assert len(found) == 59
    assert median(error(r) for r in found[40:]) < 0.02 < median(error(r) for r in found[:5])
    assert summarize(found)["interval_coverage_pct"] >= 85


def test_every_call_but_a_threads_first_is_audited() -> None:
    script = Script(OPUS45)
    loop(script, 5)
    script.call(usage=None)
    side = Script(OPUS45)
    side.session = script.session
    loop(start(side), 3)
    for n, id_ in enumerate(script.session.order[MAIN][6:]):
        script.session.calls[id_] = replace(script.session.calls[id_], thread="side")
        script.session.order.setdefault("side", []).append(id_)
        assert n < 3
    del script.session.order[MAIN][6:]
    assert [(r.thread, r.call) for r in rows(script)] == [(MAIN, n) for n in (2, 3, 4, 5)] + [("side", 2), ("side", 3)]


@settings(max_examples=25)
@given(st.integers(0, 11), st.integers(0, 10_000), st.integers(0, 2_000), st.booleans())
def test_no_prediction_up_to_a_call_knows_its_usage_or_what_follows(k: int, fresh: int, out: int, final: bool) -> None:
    whole = Script(OPUS45)
    calls = loop(whole, 12, extra=lambda n: 90 if n % 3 == 0 else 0)
    before = rows(whole)[:k]
    report(whole, calls[k], Usage(fresh=fresh, output=out, output_final=final))
    assert [replace(r, reported=0, new_reported=0, cause="") for r in rows(whole)[:k]] == [
        replace(r, reported=0, new_reported=0, cause="") for r in before
    ]
    cut = Session(whole.session.tree)
    cut.fold(CallSeen(call) for call in calls[: k + 1])
    shorter = Script(OPUS45)
    shorter.session = cut
    assert rows(shorter) == before


def test_every_aggregate_follows_from_the_rows() -> None:
    script = Script(OPUS45)
    loop(script, 40, extra=lambda n: 400 if n == 20 else 0)
    found = rows(script)
    got = summarize(found)
    assert got["median_abs_error_pct"] == percentile(
        (100 * abs(r.predicted - r.reported) / r.reported for r in found), 50
    )
    assert got["new_p90_abs_error_pct"] == percentile((100 * error(r) for r in found if r.new_reported >= 0), 90)
    inside = sum(r.lo <= r.reported <= r.hi for r in found)
    assert got["interval_coverage_pct"] == round(100 * inside / len(found), 3)
    assert all(r.predicted - r.new_predicted == r.reported - r.new_reported for r in found)
    assert all(r.lo <= r.predicted <= r.hi for r in found)
    assert set(summarize([]).values()) == {None}


@pytest.mark.parametrize(
    ("values", "share", "found"), [([1, 2], 50, 1.5), ([5], 90, 5), ([0, 10, 20], 95, 19), ([], 50, None)]
)
def test_percentiles_are_interpolated(values: list[float], share: float, found: float | None) -> None:
    assert percentile(values, share) == found


def test_a_context_that_goes_back_is_foretold_from_the_call_it_extends() -> None:
    script = Script(OPUS45)
    calls = loop(script, 8)
    script.head = calls[3].response_head
    script.hear(result("alpha " * 50, "t3"))
    again = script.call(usage=Usage(fresh=calls[3].usage.input + 300))
    assert rows(script)[-1].new_reported == 300
    assert counted(script).forecast(again).step.base.id == calls[3].id


def test_two_contexts_in_one_thread_each_go_on_from_their_own() -> None:
    script, bases = Script(OPUS45), []
    heads = [start(script).hear(block.text("one " * 30)).head, start(script).hear(block.text("two " * 90)).head]
    for n in range(8):
        script.head = heads[n % 2]
        call = script.call(block.text("ok"), usage=Usage(fresh=10_000 + 5_000 * (n % 2) + 40 * n))
        heads[n % 2] = script.hear(block.text(f"go on {n}")).head
        bases.append(call.id)
    taken = {r.call: r for r in rows(script)}
    assert all(abs(taken[n].new_reported) < 100 for n in range(3, 9))


def test_an_edit_in_the_middle_is_what_left_and_what_came() -> None:
    script = Script(OPUS45)
    calls = loop(script, 6)
    tree = script.session.tree
    items = [
        i
        if i.block.kind != "tool_result" or i.block.value()["tool_use_id"] != "t0"
        else i._replace(block=result("gone", "t0"))
        for i in tree.items(calls[-1].response_head)
    ]
    start(script)
    script.head = tree.extend(0, items)
    script.hear(result("alpha " * 100, "t5"))
    last = rows(script)
    script.call(usage=Usage(fresh=calls[-1].usage.input))
    found = rows(script)[len(last)]
    first = len(str(tree[tree.path(calls[1].sent_head)[-1]].block.value()).split())
    assert found.new_predicted == pytest.approx(130 + calls[-1].usage.output - 1.2 * first, abs=150)


@pytest.mark.parametrize(("final", "output", "expected"), [(True, 700, 700), (False, 700, 700), (False, 2, 50)])
def test_the_answer_counts_as_reported_where_that_is_final_or_plausible(
    final: bool, output: int, expected: int
) -> None:
    script = Script(OPUS45)
    script.hear(block.text("hi")).call(
        block.text("alpha " * 40), usage=Usage(fresh=9_000, output=output, output_final=final)
    )
    script.hear(block.text("on")).call(usage=Usage(fresh=9_100))
    assert rows(script)[0].new_predicted == pytest.approx(expected, abs=25)


def test_reasoning_is_taken_out_when_a_person_speaks_again() -> None:
    script = Script(CODEX, provider="openai")
    reasoning = block.make("reasoning", {"type": "reasoning", "summary": [], "encrypted_content": "x" * 400})
    script.hear(block.text("go")).call(reasoning, tool("sh", "ls"), usage=Usage(fresh=5_000, output=500, reasoning=450))
    script.hear(result("a b c")).call(
        reasoning, block.text("done"), usage=Usage(fresh=5_520, output=330, reasoning=300)
    )
    script.hear(block.text("thanks")).call(usage=Usage(fresh=5_110))
    within, after = rows(script)
    assert within.new_predicted == pytest.approx(520, abs=25)
    assert after.new_predicted == pytest.approx(330 - 300 - 450, abs=25)


def cause_of(script: Script) -> str:
    return rows(script)[-1].cause.partition(":")[0]


def test_causes_name_what_the_recording_shows() -> None:
    def ran(model: str = OPUS45) -> Script:
        script = Script(model)
        loop(script, 20)
        return script

    def last(script: Script, *answer: block.Block, more: int, **usage: int) -> str:
        base = [c for c in script.session.calls.values() if c.usage][-1].usage
        script.call(*answer, usage=Usage(fresh=base.input + more - usage.get("cache_read", 0), **usage))
        return cause_of(script)

    assert last(ran(), more=9_000) == "text injected but not in the file"
    changed = ran()
    changed.model = "claude-opus-4-8"
    assert last(changed, more=9_000) == "model change"
    packed = start(ran())
    packed.epoch = Epoch(2, EpochStart.COMPACTION, "20k → 13k")
    packed.hear(block.text("summary"))
    assert last(packed, more=-4_000) == "compaction"
    assert last(ran(), more=-4_000) == "content left"
    seen = ran()
    seen.hear(
        block.from_part({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}})
    )
    assert last(seen, more=9_000) == "image"
    searched = ran()
    assert (
        last(
            searched,
            block.from_part({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}),
            more=9_000,
        )
        == "server tool"
    )
    sealed = ran()
    sealed.call(
        block.from_part({"type": "thinking", "thinking": "", "signature": "x" * 3_000}),
        tool("Bash", "ls", "z"),
        usage=Usage(fresh=sealed.session.thread_calls(MAIN)[-1].usage.input + 900, output=1, output_final=False),
    )
    sealed.hear(result("ok", "z"))
    assert last(sealed, more=1_500) == "partial count"
    spoken = ran(OPUS4)
    spoken.call(thinking("alpha " * 400), tool("Bash", "ls", "z"), usage=Usage(fresh=30_000, output=600))
    spoken.hear(result("ok", "z")).call(block.text("done"), usage=Usage(fresh=30_640, output=8))
    spoken.hear(block.text("more"))
    assert last(spoken, more=30) == "stripped thinking"
    fewer = ran()
    fewer.hear(result("alpha " * 3_000, "y"))
    assert last(fewer, more=300) == "recorded but not sent as recorded"


def test_a_read_that_another_call_left_names_that_call() -> None:
    script = Script(OPUS45)
    made = []
    for n, (read, write) in enumerate([(0, 20_000), (20_000, 5_000), (0, 60_000), (60_000, 500), (25_000, 900)]):
        script.hear(block.text(f"step {n}"))
        made.append(script.call(block.text("ok"), usage=Usage(fresh=2, cache_read=read, write_5m=write)))
    cause = rows(script)[-1].cause
    assert cause == f"parent does not match usage: it read the 25000 tokens that call {made[1].id} left"


def test_a_cause_stands_where_a_call_is_off_and_only_there() -> None:
    script = Script(OPUS45)
    loop(script, 40, extra=lambda n: 5_000 if n == 25 else 0)
    for row in rows(script):
        off = abs(row.predicted - row.reported) > MAX_ERROR_SHARE * max(abs(row.new_reported), MIN_TOKENS)
        assert bool(row.cause) is off


def test_the_record_counts_reports_inside_their_interval() -> None:
    script = Script(OPUS45)
    loop(script, 40)
    known = counted(script)
    every = build_record(known, known.session.thread_calls(MAIN))
    right, of = every[-1]
    assert of == 38 and 30 <= right <= of
    assert len(every) == 41 and every[0] == every[1] == (0, 0) and list(build_record(known, [])) == [(0, 0)]
    assert all(0 <= b - a <= d - c <= 1 for (a, c), (b, d) in pairwise(every))


def test_figures_are_calibrated_once_enough_was_learnt_and_still_add_up() -> None:
    script = Script(OPUS45)
    loop(script, 30)
    script.call(usage=None)
    for limit in (None, 40):
        known = book(script.session, counted(script)._table, limit)
        while known.advance(25)[0] < len(script.session.tree):
            pass
        assert known.weights(OPUS45).calibrated
        for call in script.session.thread_calls(MAIN):
            got, blocks = figures(known, call), list(block_figures(known, call))
            assert sum(b.tokens for b in blocks) + got.residual == got.context_tokens
            assert {b.method for b in blocks} <= {"calibrated", "inferred"}
        assert got.method == "calibrated" and got.reported is None
        assert got.lo < got.context_tokens < got.hi and got.hi - got.lo < 600


def test_models_that_count_alike_are_learnt_from_together() -> None:
    script = Script(OPUS45)
    loop(script, 30)
    sonnet, older = "claude-sonnet-4-5-20250929", "gpt-5.1"
    script.model = sonnet
    loop(script, 2, seed=2)
    script.model = older
    loop(script, 2, seed=3)
    known = counted(script)
    assert known.weights(OPUS45) == known.weights(sonnet) and known.weights(sonnet).calibrated
    assert not known.weights(older).calibrated
    node = script.session.thread_calls(MAIN)[3].sent_head
    assert known.block_tokens(OPUS45, node) == known.block_tokens(sonnet, node)


def test_running_totals_follow_the_weights() -> None:
    script = Script(OPUS45)
    loop(script, 30)
    known = book(script.session, counted(script)._table, 10)
    running = RunningTotals(known, OPUS45)
    running.advance()
    while known.advance(50)[0] < len(script.session.tree):
        running.advance()
    assert known.version == 1 and running.is_behind
    while running.is_behind:
        before = running.done
        running.advance(20)
        assert running.done >= before
    head = script.session.thread_calls(MAIN)[-1].sent_head
    assert running.read_tokens(head, head) == sum(known.sums(OPUS45, head)) and running.version == 1


def test_following_learns_only_what_is_new() -> None:
    script = Script(OPUS45)
    calls = loop(script, 30)
    growing = Session(script.session.tree)
    known = book(growing, counted(script)._table)
    for call in calls:
        growing.apply(CallSeen(call))
        known.advance()
    whole = counted(script)
    assert known._learning.forecaster.weights() == whole._learning.forecaster.weights()
    assert 1 < known.version < 15
    assert known.forecasts == whole.forecasts


def test_an_estimator_learns_nothing() -> None:
    from ctxtui.tokens.estimators import ESTIMATORS, estimator_rule

    assert (ESTIMATORS["chars/4"]("abcde"), ESTIMATORS["words*1.3"]("a b c")) == (2, 4)
    script = Script(OPUS45)
    loop(script, 30)
    plain = counted(script)._table.with_rules((estimator_rule("words*1.3"),))
    known = book(script.session, plain)
    assert not known.weights(OPUS45).calibrated and known.version == 0
    dice = random.Random(2)
    script.hear(block.text(speech(dice, 100, 101))).call(usage=Usage(fresh=50_000))
    assert audit_calls(book(script.session, plain))[-1].new_predicted > 100


def test_a_client_that_rewrites_its_first_block_every_time_costs_no_accuracy() -> None:
    script = Script(OPUS4)
    calls = loop(script, 30)
    tree, found = script.session.tree, Session(script.session.tree)
    for n, call in enumerate(calls):
        heads = []
        for head in (call.sent_head, call.response_head):
            items = tree.items(head)
            items[1] = items[1]._replace(block=block.text(f"today is day {n} " + "alpha " * 20))
            heads.append(tree.extend(0, items))
        found.apply(CallSeen(replace(call, sent_head=heads[0], response_head=heads[1])))
    changed = Script(OPUS4)
    changed.session = found
    late = rows(changed)[15:]
    assert median(error(r) for r in late) < 0.05 and not any(r.follows_user for r in late)
