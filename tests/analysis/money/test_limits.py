"""Recordings held against limits and baselines."""

from __future__ import annotations

import pytest
from msgspec.structs import fields, replace

from ctxtui.analysis.money.limits import (
    Figures,
    Limits,
    check_baseline,
    check_limits,
    figures_as_fields,
    longest_block,
    session_figures,
)
from ctxtui.core import block
from ctxtui.core.call import Fidelity
from ctxtui.core.usage import Usage
from tests.analysis.money_cases import MODEL, agent, billed_session
from tests.analysis.sessions import Script

GOOD = Figures(
    calls=10,
    context_tokens=90_000,
    block_chars=9000,
    cache_read=0.5,
    cache_read_of_unwritten=0.6,
    rewrites=2,
    cost_usd=0.9,
    read_per_write=2.5,
    call_seconds=12.0,
)


def limits(*values: float) -> Limits:
    """The first limits, in their order."""
    return Limits(**dict(zip((field.name for field in fields(Limits)), values, strict=False)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("allowed", "passed"),
    [
        (limits(90_000, 9000, 0.5, 2, 0.9, 2.5, 12.0), [True] * 7),
        (limits(89_999, 8999, 0.51, 1, 0.89, 2.6, 11.9), [False] * 7),
        (Limits(), []),
        (Limits(max_rewrites=0), [False]),
    ],
)
def test_a_limit_holds_up_to_its_own_value(allowed: Limits, passed: list[bool]) -> None:
    assert [one.passed for one in check_limits(GOOD, allowed)] == passed


def test_what_is_not_known_cannot_be_told_and_a_single_call_has_nothing_to_hit() -> None:
    unknown = Figures(
        calls=3,
        context_tokens=None,
        block_chars=10,
        cache_read=None,
        cache_read_of_unwritten=None,
        rewrites=0,
        cost_usd=None,
        unpriced_calls=3,
    )
    found = check_limits(unknown, limits(1, 100, 0.1, 0, 1.0))
    assert [(one.limit, one.passed) for one in found] == [
        ("max_context", None),
        ("max_block_chars", True),
        ("min_cache_read", None),
        ("max_rewrites", True),
        ("max_cost", None),
    ]
    assert "unknown" in found[0].text and "unknown" in found[4].text
    partly = replace(unknown, cost_usd_at_least=8.03, cost_usd_at_most=9.5)
    told = {allowed: check_limits(partly, Limits(max_cost=allowed))[0] for allowed in (1.0, 8.03, 9.49, 9.5)}
    assert [one.passed for one in told.values()] == [False, None, None, True]
    assert "≥ 8.0300 and ≤ 9.5000" in told[1.0].text and "cannot be checked" in told[9.49].text
    assert check_limits(replace(partly, cost_usd_at_most=None), Limits(max_cost=100))[0].passed is None
    assert check_limits(Figures(calls=1), Limits(min_cache_read=0.5))[0].passed


def test_a_baseline_allows_a_little_more_and_no_rewrite_more() -> None:
    assert all(one.passed for one in check_baseline(GOOD, figures_as_fields(GOOD)))
    worse = Figures(
        calls=10,
        context_tokens=95_000,
        block_chars=9000,
        cache_read=0.4,
        cache_read_of_unwritten=0.6,
        rewrites=3,
        cost_usd=0.9,
        read_per_write=2.5,
        call_seconds=99.0,
    )
    assert [one.limit for one in check_baseline(worse, figures_as_fields(GOOD)) if not one.passed] == [
        "baseline context_tokens",
        "baseline cache_read",
        "baseline rewrites",
    ]
    assert all(one.passed for one in check_baseline(worse, figures_as_fields(GOOD), tolerance=0.5))
    assert [one.limit for one in check_baseline(GOOD, {"rewrites": 5, "cost_usd": None, "x": 1})] == [
        "baseline rewrites"
    ]


def test_figures_are_those_of_the_recording() -> None:
    session = agent([1000, 3000, 10], [20, 4000, 20])
    calls = list(session.calls.values())
    found = session_figures(session, billed_session(session), 12)
    usages = [c.usage for c in calls if c.usage]
    assert found.cache_read == sum(u.cache_read for u in usages) / sum(u.input for u in usages)
    assert found.cache_read_of_unwritten == 1.0
    assert (found.calls, found.context_tokens, found.rewrites, found.block_chars) == (4, 12, 1, 20_000)
    assert found.cost_usd is not None
    alone = Script(MODEL, Fidelity.WIRE)
    alone.hear(block.text("x")).call(usage=Usage(fresh=5000))
    assert session_figures(alone.session, billed_session(alone.session), 5000).cache_read is None


def test_the_longest_block_is_one_that_was_sent() -> None:
    script = Script(MODEL, Fidelity.WIRE)
    use = block.from_part({"type": "tool_use", "id": "t", "name": "write", "input": {"text": "y" * 300}})
    script.hear(block.text("a" * 50)).call(use, usage=Usage(fresh=100))
    assert longest_block(script.session) == 50
    script.hear(block.text("b")).call(block.text("c" * 9000), usage=Usage(fresh=100))
    assert longest_block(script.session) == len('{"text":"' + "y" * 300 + '"}')
