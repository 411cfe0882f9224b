"""What edits would have changed in recorded calls is what a slow replay of the same calls under them changes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ctxtui.analysis.money.edited_calls import charge_edited_calls, reduce_usage
from ctxtui.core.call import Call
from ctxtui.core.session import MAIN
from ctxtui.core.usage import Usage
from tests.analysis.money.test_savings import LONG, SHORT, charge, sizes, times
from tests.analysis.money_cases import agent, billed, contexts, costs_of, usages


@settings(max_examples=40)
@given(sizes, st.sampled_from(["5m", "1h", None]), st.data())
def test_it_is_what_a_replay_finds_from_any_call_on(made: list[int], ttl: str | None, data: st.DataObject) -> None:
    pauses = data.draw(st.lists(st.sampled_from([SHORT, LONG]), min_size=len(made), max_size=len(made)))
    session = agent(made, pauses, ttl)
    (costs,) = costs_of(session)
    calls, sent, tree = session.thread_calls(MAIN), contexts(session), session.tree
    since = data.draw(st.integers(0, len(calls) - 1))
    results = [n for n, tokens in sent[-1] if tree[int(str(n))].block.kind == "tool_result" and tokens > 5]
    gone = set(data.draw(st.lists(st.sampled_from(results), min_size=1, unique=True)))
    after = [[(f"cut {n}", tokens - 5) if n in gone else (n, tokens) for n, tokens in one] for one in sent[since:]]
    replayed = usages([*sent[:since], *after], times(calls), ttl)
    freed = {int(str(n)): 5 for n in gone}
    found = charge_edited_calls(
        costs.ledger, calls, freed, charge, since=since, left=replayed[since] if since else None
    )
    less = [5 * sum(n in gone for n, _ in one) for one in sent[since:]]
    assert (found.first, list(found.saved), found.tokens) == (since + 1, less, sum(less))
    assert found.affected_calls == sum(map(bool, less)) and not found.partial
    recorded = billed(usages(sent, times(calls), ttl), calls)
    assert found.usd == pytest.approx(billed(replayed, calls) - recorded, rel=1e-6, abs=1e-6)


def test_each_call_is_charged_by_its_own_terms_and_none_without_a_report() -> None:
    session = agent([2000, 2000, 2000], [SHORT] * 3)
    (costs,) = costs_of(session)
    calls = session.thread_calls(MAIN)
    first = next(n for n in session.tree.path(calls[-1].sent_head) if session.tree[n].block.kind == "tool_result")

    def by_call(usage: Usage, call: Call) -> float | None:
        return None if call is calls[2] else usage.input * (2.0 if call is calls[3] else 1.0)

    found = charge_edited_calls(costs.ledger, calls, {first: 100}, by_call)
    assert found.more == (0.0, -100.0, None, -200.0) and found.partial and found.usd == -300.0
    unreported = [*calls[:3], replace(calls[3], usage=None)]
    assert charge_edited_calls(costs.ledger, unreported, {first: 100}, charge).more[3] is None
    assert charge_edited_calls(costs.ledger, calls, {first: 100}, None).usd is None
    half = charge_edited_calls(costs.ledger, calls, {first: 100}, by_call, scale=0.5)
    assert half.saved == found.saved and half.usd == -150.0, "one is charged for two"


def test_tokens_go_from_where_they_stood_and_lifetimes_keep_their_shares() -> None:
    usage = Usage(fresh=10, cache_read=100, write_5m=60, write_1h=40)
    assert reduce_usage(usage, (30, 50, 4)) == Usage(fresh=6, cache_read=70, write_5m=30, write_1h=20)
    assert reduce_usage(usage, (0, 0, 20)).input == 190, "what is more than was told of a part stood in the next"
    assert reduce_usage(usage, (500, 0, 0)).input == 0
    left = Usage(cache_read=50, write_1h=9)
    assert reduce_usage(usage, (30, 0, 0), left) == Usage(fresh=10, cache_read=50, write_5m=60, write_1h=60)
    assert reduce_usage(usage, (80, 0, 0), left).cache_read == 20, "one that read less loses less"
