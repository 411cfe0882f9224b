"""The bill adds up, and each token stands in the part that its history puts it in."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ctxtui.analysis.cache.miss import CONTENT, TTL
from ctxtui.analysis.figures import figures
from ctxtui.analysis.latency import latencies
from ctxtui.analysis.money.bill import CARRY, FIRST, OTHER, OUTPUT, RECORDED, REWRITES, Bill, round_to_sum
from ctxtui.analysis.money.block_costs import most_expensive_blocks, thread_costs
from ctxtui.analysis.money.spending import rows_by_call, rows_by_category, rows_by_tool, sum_rows
from ctxtui.core import block
from ctxtui.core.call import ANSWER_LEAST, Call, Epoch, EpochStart, Fidelity
from ctxtui.core.session import MAIN, CallSeen, Session
from ctxtui.core.usage import Usage
from ctxtui.pricing.price import Cost, known_usd, price_call
from tests.analysis.money_cases import MODEL, agent, billed_session, counted
from tests.analysis.sessions import Script


def priced(session: Session) -> dict[str, Cost | None]:
    return {id_: price_call(call) for id_, call in session.calls.items()}


def bill_of(session: Session) -> Bill:
    return billed_session(session)


counts = st.integers(0, 60_000)
usage = st.builds(
    Usage,
    fresh=counts,
    cache_read=counts,
    write_5m=counts,
    write_1h=st.sampled_from([0, 500]),
    output=counts,
    has_cache=st.booleans(),
    cost=st.sampled_from([None, 0.0, 0.5]),
)
models = st.sampled_from([MODEL, "gpt-5.4", "ollama/llama3.1", "claude-haiku-5-5"])
steps = st.lists(st.tuples(st.integers(1, 400), usage | st.none(), models, st.sampled_from([5.0, 4000.0])), max_size=8)


@settings(max_examples=80)
@given(steps)
def test_parts_rows_and_threads_add_up_to_the_calls_whatever_the_reports_say(made: list) -> None:
    script = Script(MODEL)
    for words, report, model, pause in made:
        script.model = model
        script.hear(block.text("w " * words)).call(block.text("a"), usage=report, after=pause)
    costs, calls = priced(script.session), list(script.session.calls.values())
    found, book = bill_of(script.session), counted(script.session)
    known = [usd for call in calls if (usd := known_usd(call, costs[call.id])) is not None]
    whole = sum(known)
    assert found.usd == (pytest.approx(whole) if known else None)
    assert sum(found.threads.values()) == pytest.approx(whole) and found.priced == len(known)
    assert found.priced + found.unreported + sum(found.unpriced.values()) == len(calls)
    tokens = sum(c.usage.input + c.usage.output for c in calls if c.usage and known_usd(c, costs[c.id]) is not None)
    # What was lost is told whether or not its price is known.
    order = script.session.thread_calls(MAIN)
    tokens += sum(one.tokens for one in found.rewrites if known_usd(c := order[one.number - 1], costs[c.id]) is None)
    assert found.parts[REWRITES].tokens == sum(one.tokens for one in found.rewrites)
    assert sum(part.tokens for part in found.parts.values()) == tokens
    assert all(part.usd >= -1e-9 and part.tokens >= 0 for part in found.parts.values())
    threads = thread_costs(book, costs)
    for rows in (
        rows_by_call(calls, costs, lambda c: c.model),
        rows_by_category(threads, costs),
        rows_by_tool(threads, costs, book.names),
    ):
        assert (sum_rows(rows).usd or 0.0) == pytest.approx(whole)


def test_each_part_is_what_it_is_called() -> None:
    session = agent([1000, 1000, 1000], [20, 4000, 20], fixed=4000)
    found = bill_of(session)
    first, second, third, fourth = (c.usage for c in session.thread_calls(MAIN))
    assert first and second and third and fourth and third.cache_read == 0 and second.cache_read == first.input
    (rewrite,) = found.rewrites
    assert (rewrite.number, rewrite.cause, rewrite.tokens) == (3, TTL, second.input)
    assert found.parts[REWRITES].tokens == second.input
    assert found.parts[REWRITES].usd == rewrite.usd == pytest.approx(second.input * (6.25e-6 - 0.5e-6))
    assert rewrite.paid == pytest.approx(second.input * 6.25e-6)
    assert found.parts[CARRY].tokens == first.input + third.input and found.in_full.tokens == 0
    assert found.parts[CARRY].usd == pytest.approx((first.input + second.input + third.input) * 0.5e-6)
    assert found.parts[FIRST].tokens == first.input + (third.input - second.input) + (
        second.input - first.input + fourth.input - third.input
    )
    assert found.parts[OUTPUT].usd == pytest.approx(400 * 25e-6)


def test_without_a_cache_what_is_sent_again_is_carried_at_full_price() -> None:
    found = bill_of(agent([1000, 1000], [20, 20], ttl=None))
    assert found.rewrites == [] and found.parts[REWRITES].usd == 0
    assert found.in_full.tokens == found.parts[CARRY].tokens > 10_000


def test_a_change_early_in_the_context_rewrites_what_stands_behind_it() -> None:
    script = Script(MODEL, Fidelity.WIRE)
    big, tail = block.text("word" * 4000), block.text("tail" * 3000)
    script.hear(block.text("begin" * 2000)).hear(big).hear(tail).call(usage=Usage(write_5m=9500))
    script.head = 0
    small = block.text("cut" * 10)
    script.hear(block.text("begin" * 2000)).hear(small).hear(tail).call(usage=Usage(cache_read=2500, write_5m=3010))
    (rewrite,) = bill_of(script.session).rewrites
    assert rewrite.cause == CONTENT and rewrite.tokens == pytest.approx(3000, abs=20)


def test_a_compaction_writes_its_summary_for_the_first_time() -> None:
    script = Script(MODEL, Fidelity.WIRE)
    script.hear(block.text("x" * 40_000)).call(usage=Usage(write_5m=10_000))
    script.head, script.epoch = 0, Epoch(2, EpochStart.COMPACTION)
    script.hear(block.text("summary" * 100)).call(usage=Usage(write_5m=2000))
    found = bill_of(script.session)
    assert found.rewrites == [] and found.parts[FIRST].tokens == 12_000


def test_answers_reported_in_part_are_counted_and_cost_what_is_on_record_of_them() -> None:
    script = Script(MODEL)
    script.hear(block.text("a")).call(block.text("one two three"), usage=Usage(fresh=100, output=500))
    script.hear(block.text("b")).call(block.text("four five six"), usage=Usage(fresh=200, output=1, output_final=False))
    call = list(script.session.calls.values())[-1]
    script.session.fold([CallSeen(replace(call, extra={**call.extra, ANSWER_LEAST: 3}))])
    found, (whole, part) = bill_of(script.session), priced(script.session).values()
    assert whole is not None and part is not None
    assert part.output == pytest.approx(whole.output * 3 / 500)
    assert (found.partial, found.at_least, found.parts[OUTPUT].tokens) == (1, True, 503)
    assert found.usd == pytest.approx(whole.usd + part.usd)
    counted_more = found.likely.tokens
    assert counted_more > 0 and found.likely.usd == pytest.approx(part.output / 3 * counted_more)
    both = Bill()
    both.add_bill(found)
    both.add_bill(found)
    assert (both.partial, both.likely.tokens) == (2, 2 * counted_more)


def test_the_residual_of_the_bill_is_that_of_its_calls() -> None:
    script = Script(MODEL)
    for more in (400, 900, 0, 2_000):
        script.hear(block.text("word " * 300)).call(block.text("a"), usage=Usage(fresh=1_000 + more, output=5))
    found, book = bill_of(script.session), counted(script.session)
    left = [figures(book, call).residual for call in script.session.calls.values()]
    assert found.beyond.tokens == sum(rest for rest in left if rest > 0) and any(left)
    assert found.short.tokens == -sum(rest for rest in left if rest < 0)
    assert (found.beyond.calls, found.short.calls) == (sum(r > 0 for r in left), sum(r < 0 for r in left))
    costs = priced(script.session)
    share = sum(
        (cost.usd - cost.output) * rest / call.usage.input
        for call, rest in zip(script.session.calls.values(), left, strict=True)
        if rest > 0 and call.usage and (cost := costs[call.id])
    )
    assert found.beyond.usd == pytest.approx(share)


def test_a_dear_block_that_is_gone_says_since_which_call() -> None:
    script = Script(MODEL, Fidelity.WIRE)
    gone, stays = block.text("gone" * 4000), block.text("stays" * 4000)
    script.hear(gone).hear(stays).call(usage=Usage(fresh=8_000))
    script.hear(block.text("more")).call(usage=Usage(fresh=8_100))
    script.head, script.epoch = 0, Epoch(2, EpochStart.COMPACTION)
    script.hear(stays).call(usage=Usage(fresh=4_000))
    threads = thread_costs(counted(script.session), priced(script.session))
    tree = script.session.tree
    found = {tree[one.node].block.digest: one.gone for one in most_expensive_blocks(threads, 5)}
    assert (found[gone.digest], found[stays.digest]) == (3, 0)


def test_calls_without_a_price_are_counted_and_a_record_s_own_figure_stands_for_a_missing_one() -> None:
    script = Script("ollama/llama3.1", provider="ollama")
    script.hear(block.text("a")).call(usage=Usage(fresh=100, output=5))
    script.hear(block.text("b")).call(usage=Usage(fresh=100, output=5, cost=0.25))
    script.hear(block.text("c")).call()
    found = bill_of(script.session)
    assert (found.usd, found.unpriced, found.unreported) == (0.25, {"ollama/llama3.1": 1}, 1)
    assert found.parts[RECORDED] == (0.25, 105)
    nothing = bill_of(Script("x").session)
    assert nothing.usd is None


def test_subagents_have_their_share_and_two_bills_add_up() -> None:
    session = agent([1000, 1000], [20, 20])
    other = [replace(c, id=f"side {c.id}", thread="side") for c in session.calls.values()]
    session.fold(CallSeen(call) for call in other)
    found = bill_of(session)
    assert found.subagents == pytest.approx(0.5)
    both = Bill()
    both.add_bill(found, "one ")
    both.add_bill(found, "two ")
    assert both.usd == pytest.approx(2 * (found.usd or 0)) and set(both.threads) == {MAIN, "one side", "two side"}
    assert both.parts[OTHER].usd == 0


@given(st.lists(st.floats(0, 1000), min_size=1, max_size=6), st.sampled_from([2, 3]))
@example([1.645], 2)
@example([0.005], 2)
def test_rounded_parts_add_up_to_the_rounded_sum(amounts: list[float], decimals: int) -> None:
    shown = round_to_sum(amounts, decimals)
    assert round(sum(shown), decimals) == pytest.approx(round(sum(amounts), decimals), abs=1.01 * 10**-decimals / 2)
    assert all(abs(a - b) <= 10**-decimals for a, b in zip(shown, amounts, strict=True))


def test_a_block_costs_its_write_and_every_call_that_carried_it() -> None:
    session = agent([200, 9000, 200, 200, 200], [20] * 5)
    large, task, *_ = most_expensive_blocks(thread_costs(counted(session), priced(session)), 3)
    assert (large.tokens, large.calls) == (9000, 4)
    assert task.node == session.tree.path(session.thread_calls(MAIN)[0].sent_head)[1] and task.calls == 6
    assert large.usd == pytest.approx(9000 * (6.25e-6 + 3 * 0.5e-6))
    assert task.usd == pytest.approx(5000 * (6.25e-6 + 5 * 0.5e-6))


def test_latency_stands_by_size_of_context() -> None:
    calls = [
        Call("a", MAIN, started=0.0, first_byte=1.0, ended=5.0, usage=Usage(fresh=9000, output=10)),
        Call("b", MAIN, started=0.0, first_byte=3.0, ended=9.0, usage=Usage(fresh=60_000, output=30)),
        Call("c", MAIN, started=0.0, ended=11.0, usage=Usage(fresh=70_000, output=50)),
        Call("d", MAIN, started=4.0, ended=4.0, usage=Usage(fresh=70_000)),
        Call("e", MAIN, started=4.0, ended=6.0),
    ]
    small, large = latencies(calls)
    assert small == (0, 10_000, 1, 5.0, 1.0, 10)
    assert large == (50_000, 100_000, 2, 10.0, 3.0, 40)
