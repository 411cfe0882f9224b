"""Money on other terms: batch, service tiers, fast mode, long prompts, writes of every lifetime; names; other costs."""

from typing import Any

import pytest
from msgspec.structs import replace

from ctxtui.core import canonical
from ctxtui.core.call import Call
from ctxtui.core.usage import Usage
from ctxtui.pricing.price import keep_priced_fields, max_usd, price, price_call, price_uncached
from ctxtui.pricing.rates import find_rates
from ctxtui.pricing.table import parse_prices
from ctxtui.pricing.terms import STANDARD, Terms, read_terms
from ctxtui.services.config.package_data import model_table, price_table

NOVEMBER_2026 = 1795219200.0
MILLION = 1_000_000


def usd(model: str, usage: Usage, terms: Terms = STANDARD, provider: str = "") -> float:
    cost = price(usage, model, provider, NOVEMBER_2026, terms=terms)
    assert cost is not None
    assert cost.usd == pytest.approx(cost.fresh + cost.read + cost.write + cost.output + cost.other)
    return cost.usd


@pytest.mark.parametrize(
    ("model", "usage", "expected"),
    [
        ("claude-opus-5-5", Usage(cache_read=MILLION), 0.20),
        ("claude-fable-5-2", Usage(cache_read=MILLION), 0.20),
        ("claude-opus-5", Usage(cache_read=MILLION), 0.50),
        ("claude-opus-5-5", Usage(write_5m=MILLION), 5.0),
        ("claude-opus-5-5", Usage(write_1h=MILLION), 8.0),
        ("gpt-6.1-terra", Usage(write_30m=200_000), 0.25),
        ("gpt-6.1-terra", Usage(write_12h=200_000), 0.50),
        ("gpt-6.1-terra", Usage(fresh=272_000, output=1000), 0.272 + 0.005),
        ("gpt-6.1-terra", Usage(fresh=272_001, output=1000), 0.544002 + 0.0075),
        ("gpt-5.5", Usage(fresh=100_000, cache_read=172_001), None),
        ("claude-haiku-5-5", Usage(fresh=100_001, cache_read=0, output=1000), 0.0500005 + 0.0025),
    ],
)
def test_every_kind_of_token_has_its_rate(model: str, usage: Usage, expected: float | None) -> None:
    if expected is None:  # above 272,000 tokens the whole request costs twice, its answer half as much again
        short = find_rates(model, length=272_000, at=NOVEMBER_2026)
        assert short is not None
        expected = 2 * (usage.fresh * short.fresh + usage.cache_read * short.read)
    assert usd(model, usage) == pytest.approx(expected)


@pytest.mark.parametrize("dearest", ["input", "cache_read", "cache_write_5m", "cache_write_1h"])
def test_an_input_that_was_not_reported_costs_its_dearest_rate_at_most(dearest: str) -> None:
    rates = dict.fromkeys(("input", "cache_read", "cache_write_5m", "cache_write_1h"), 1) | {dearest: 7}
    table = parse_prices(
        "[[model]]\nmatch = 'mine'\nsource = ''\ndate = ''\n"
        + "".join(f"{name} = {usd}\n" for name, usd in rates.items())
    )
    card = replace(model_table().card("mine"), window=MILLION, max_output=10)
    assert max_usd(Call("c", "main", model="mine"), None, card, table) == pytest.approx(7)


@pytest.mark.parametrize(
    ("model", "terms", "times"),
    [
        ("claude-opus-5-5", Terms(batch=True), 0.5),
        ("claude-opus-5-5", Terms(fast=True), 2.0),
        ("claude-opus-5-5", Terms(us=True), 1.1),
        ("claude-opus-5-5", Terms(batch=True, us=True), 0.55),
        ("gpt-5.4", Terms(batch=True), 0.5),
        ("gpt-5.4", Terms(tier="flex"), 0.5),
        ("gpt-5.4", Terms(tier="priority"), 2.0),
    ],
)
def test_other_terms_multiply_every_rate(model: str, terms: Terms, times: float) -> None:
    for usage in (Usage(fresh=1000), Usage(cache_read=1000), Usage(output=1000)):
        assert usd(model, usage, terms) == pytest.approx(
            times * usd(model, usage), rel=0.05
        )  # some are published rounded


@pytest.mark.parametrize(
    ("model", "times", "output"),
    [
        ("claude-opus-4-6", 6, 150.0),
        ("claude-opus-4-7-20260416", 6, 150.0),
        ("anthropic/claude-opus-4.6", 6, 150.0),
        ("us.anthropic.claude-opus-4-7-v1:0", 6, 165.0),
        ("claude-opus-4-8", 2, 50.0),
        ("claude-opus-5-5", 2, 40.0),
    ],
)
def test_fast_mode_costs_what_its_page_says_of_each_model(model: str, times: float, output: float) -> None:
    table = price_table()
    usual = find_rates(model, at=NOVEMBER_2026, table=table)
    fast = find_rates(model, at=NOVEMBER_2026, table=table, terms=Terms(fast=True))
    assert usual is not None and fast is not None
    assert fast.output * MILLION == pytest.approx(output)
    for kind in ("fresh", "read", "write_5m", "write_1h", "output"):
        assert getattr(fast, kind) == pytest.approx(times * getattr(usual, kind))


@pytest.mark.parametrize(
    ("terms", "factor", "lacks"),
    [
        (Terms(fast=True, tier="priority"), 2.0, ("service_tier",)),
        (Terms(batch=True, fast=True), 0.5, ("speed",)),
        (Terms(batch=True, tier="priority"), 0.5, ("service_tier",)),
        (Terms(batch=True, tier="flex"), 0.5, ()),
        (Terms(fast=True), 2.0, ()),
    ],
)
def test_a_term_beside_one_that_the_library_prices_is_said_to_lack_a_price(
    terms: Terms, factor: float, lacks: tuple[str, ...]
) -> None:
    standard, rates = find_rates("claude-fable-5-2"), find_rates("claude-fable-5-2", terms=terms)
    assert standard is not None and rates is not None
    assert (rates.fresh, rates.lacks) == (standard.fresh * factor, lacks)


def test_a_batch_is_half_price_also_where_the_library_has_no_row_for_it() -> None:
    long_ago = 1752380000.0
    half = find_rates("claude-opus-4-20250514", at=long_ago, terms=Terms(batch=True))
    whole = find_rates("claude-opus-4-20250514", at=long_ago)
    assert half is not None and whole is not None and half.write_1h == pytest.approx(whole.write_1h / 2)


@pytest.mark.parametrize(
    ("extra", "terms"),
    [
        ({}, STANDARD),
        ({"service_tier": "standard", "speed": "standard", "inference_geo": "not_available"}, STANDARD),
        ({"service_tier": "default"}, STANDARD),
        ({"service_tier": "batch"}, Terms(batch=True)),
        ({"service_tier": "flex"}, Terms(tier="flex")),
        ({"usage": {"speed": "fast", "inference_geo": "us"}}, Terms(fast=True, us=True)),
    ],
)
def test_terms_are_read_from_the_record(extra: dict[str, Any], terms: Terms) -> None:
    assert read_terms(extra) == terms


@pytest.mark.parametrize(
    ("model", "provider", "per_million"),
    [
        ("openrouter/anthropic/claude-3.5-sonnet", "", 3.0),
        ("openai/gpt-4o-2024-08-06", "", 2.5),
        ("litellm_proxy/claude-sonnet-4-20250514", "", 3.0),
        ("claude-opus-5-5[1m]", "", 4.0),
        ("us.anthropic.claude-haiku-4-5-20251001-v1:0", "", 1.1),
        ("ollama/llama3.1", "", None),
        ("mistral-7b", "ollama", None),
        ("qwen2.5-coder:7b", "", None),
        ("gpt-5.3-codex-spark", "openai", None),
    ],
)
def test_a_client_s_spelling_finds_the_price_and_local_models_have_none(
    model: str, provider: str, per_million: float | None
) -> None:
    found = find_rates(model, provider, NOVEMBER_2026)
    assert (found and found.fresh * MILLION) == (None if per_million is None else pytest.approx(per_million))


def call(usage: Usage, **extra: Any) -> Call:
    return Call(
        "m", "main", provider="anthropic", model="claude-opus-5-5", started=NOVEMBER_2026, usage=usage, extra=extra
    )


def test_searches_and_further_passes_are_charged_beside_the_tokens() -> None:
    plain = price_call(call(Usage(fresh=1000, output=100)))
    searched = price_call(call(Usage(fresh=1000, output=100), server_tool_use={"web_search_requests": 3}))
    passes = [
        {"type": "compaction", "input_tokens": 50_000, "output_tokens": 1000},
        {"type": "message", "input_tokens": 1000, "output_tokens": 100},
    ]
    compacted = price_call(call(Usage(fresh=1000, output=100), iterations=passes))
    assert plain and searched and compacted and plain.other == 0
    assert searched.usd - plain.usd == pytest.approx(0.03) == searched.other
    assert compacted.other == pytest.approx(50_000 * 4e-6 + 1000 * 20e-6)


def test_counting_tokens_is_free_and_cohere_bills_its_own_units() -> None:
    assert price_call(replace(call(Usage(fresh=5000)), stop_reason="count_tokens")).usd == 0.0  # type: ignore[union-attr]
    units = {"billed_units": {"input_tokens": 100, "output_tokens": 10}}
    cohere = replace(
        call(Usage(fresh=500, output=10)), extra={"usage": units}, model="command-a-03-2025", provider="cohere"
    )
    cost = price_call(cohere)
    assert cost is not None and cost.usd == pytest.approx(100 * 2.5e-6 + 10 * 10e-6)
    endless = {"billed_units": canonical.loads('{"input_tokens": 1e400, "output_tokens": -10.0}')}
    cost = price_call(replace(cohere, extra={"usage": endless}))
    assert cost is not None and cost.usd == 0.0


def test_what_is_sent_to_another_process_has_the_same_price() -> None:
    one = call(Usage(fresh=10, cache_read=900, output=5), speed="fast", requestId="r", big="x" * 1000)
    assert price_call(keep_priced_fields(one)) == price_call(one) and "big" not in keep_priced_fields(one).extra
    without = price_uncached(one)
    assert without is not None and without.fresh == pytest.approx(910 * 8e-6)


def test_two_reported_agents_by_an_override_table() -> None:
    """The figures two teams reported: a 190k call at $3/$15, and vision turns at $0.80/$4.00/$0.08."""
    table = parse_prices(
        'version = "t"\n[[model]]\nmatch = "root"\ninput = 3.0\noutput = 15.0\n'
        '[[model]]\nmatch = "vision"\ninput = 0.8\noutput = 4.0\ncache_read = 0.08\n'
    )
    root = price(Usage(fresh=190_000), "root", table=table)
    assert root is not None and root.usd == pytest.approx(0.57)
    turn = price(Usage(fresh=24_479, output=595), "vision", table=table)
    assert turn is not None and round(turn.usd, 3) == 0.022


def test_ten_generations_of_a_search_by_its_own_prices() -> None:
    """A root model whose context grows by 43k a generation, as its authors measured, at $3/$15: about $9 a run."""
    table = parse_prices('version = "t"\n[[model]]\nmatch = "root"\ninput = 3.0\noutput = 15.0\n')
    plain = cached = 0.0
    for generation in range(1, 11):
        context, answer = 43_000 * generation, 14_000
        whole = price(Usage(fresh=context, output=answer), "root", table=table)
        read = price(Usage(fresh=context // 5, cache_read=context * 4 // 5, output=answer), "root", table=table)
        assert whole is not None and read is not None
        plain, cached = plain + whole.usd, cached + read.usd
    assert round(plain) == 9
    # Their "80 % cached saves $7.20" takes reads as free and answers as cached: reads cost a tenth, answers are not.
    assert plain - cached == pytest.approx(0.8 * 0.9 * 43_000 * 55 * 3e-6) and 5.0 < plain - cached < 5.2


def test_a_vision_agent_s_turns_before_and_after_its_cures() -> None:
    """$2.20 per 100 turns as measured; 9.8k a turn, 60 % of it read from the cache, come to their $0.60."""
    table = parse_prices('version = "t"\n[[model]]\nmatch = "vision"\ninput = 0.8\noutput = 4.0\ncache_read = 0.08\n')
    before = price(Usage(fresh=24_479, output=595), "vision", table=table)
    after = price(Usage(fresh=3_900, cache_read=5_900, output=595), "vision", table=table)
    assert before is not None and after is not None
    assert 100 * before.usd == pytest.approx(2.20, abs=0.01)
    assert 100 * after.usd == pytest.approx(0.60, abs=0.01) and 1 - after.usd / before.usd == pytest.approx(
        0.73, abs=0.01
    )
