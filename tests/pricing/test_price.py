"""Money: figures of facts §3, §7 and the override table."""

from pathlib import Path

import pytest
from msgspec.structs import replace

import ctxtui
from ctxtui.core.usage import Usage
from ctxtui.pricing.price import price
from ctxtui.pricing.rates import find_rates
from ctxtui.pricing.table import PriceTable, parse_prices
from ctxtui.services.config.package_data import price_table

TABLE = parse_prices((Path(ctxtui.__file__).parent / "data/prices.toml").read_text())
JULY_2025 = 1752380000.0


def test_the_parts_add_up_and_each_kind_of_token_has_its_own_rate() -> None:
    cost = price(
        Usage(fresh=1000, cache_read=90_000, write_5m=5000, write_1h=4000, output=100),
        "claude-opus-4-20250514",
        at=JULY_2025,
    )
    assert cost is not None
    assert cost.fresh == pytest.approx(0.015)
    assert cost.read == pytest.approx(0.135)
    assert cost.write == pytest.approx(5000 * 18.75e-6 + 4000 * 30e-6)
    assert cost.output == pytest.approx(0.0075)
    assert cost.usd == pytest.approx(cost.fresh + cost.read + cost.write + cost.output)
    assert cost.version.startswith("genai-prices ")


@pytest.mark.parametrize(
    ("model", "tokens", "usd"), [("claude-haiku-5-5", 100_000, 0.01), ("claude-haiku-5-5", 100_001, 0.0500005)]
)
def test_a_long_prompt_is_priced_whole_at_the_higher_rate(model: str, tokens: int, usd: float) -> None:
    cost = price(Usage(fresh=tokens), model)
    assert cost is not None and cost.usd == pytest.approx(usd)


def test_the_override_table_is_asked_first() -> None:
    cost = price(Usage(fresh=1_000_000), "claude-mythos-5", table=TABLE)
    assert cost is not None and cost.usd == pytest.approx(10.0)
    rows = parse_prices('version = "v"\n[[model]]\nmatch = "local-.*"\ninput = 1.0\noutput = 2.0\n')
    mine = price(Usage(fresh=1_000_000, cache_read=1_000_000, output=1_000_000), "local-x", table=rows)
    assert mine is not None and (mine.usd, mine.version) == (pytest.approx(3.1), "override v")


@pytest.mark.parametrize(
    ("rates", "usd"),
    [("", 2.5), ("cache_write_5m = 3.0", 6.0), ("cache_write_1h = 4.0", 4.0)],
)
def test_an_override_prices_12_hour_writes_like_the_library(rates: str, usd: float) -> None:
    """Facts §4: twice the 30-minute writes, unless the row has a rate of long writes."""
    rows = parse_prices(f'[[model]]\nmatch = "own"\ninput = 1.0\noutput = 2.0\n{rates}\n')
    cost = price(Usage(write_12h=1_000_000), "own", table=rows)
    assert cost is not None and cost.usd == pytest.approx(usd)


def test_an_unknown_price_is_unknown_never_zero() -> None:
    assert price(Usage(fresh=10), "no-such-model-anywhere") is None


def test_an_unknown_key_in_the_table_is_an_error() -> None:
    with pytest.raises(TypeError, match="inputt"):
        parse_prices('[[model]]\nmatch = "x"\ninputt = 1\n')


def test_every_row_names_its_source() -> None:
    assert PriceTable() != TABLE and all(row.source and row.date for row in TABLE.rows)


@pytest.mark.parametrize(
    ("model", "input_", "output", "read"),
    [
        ("claude-fable-5-2", 8, 40, 0.20),
        ("claude-mythos-5-2", 8, 40, 0.20),
        ("claude-fable-5-1", 10, 50, 0.25),
        ("claude-mythos-5-1", 10, 50, 0.25),
        ("claude-opus-5-5", 4, 20, 0.20),
        ("claude-sonnet-5-5", 2, 10, 0.10),
        ("claude-haiku-5-5", 0.10, 0.50, 0.01),
        ("claude-fable-5", 10, 50, 1.00),
        ("claude-mythos-5", 10, 50, 1.00),
        ("claude-opus-5", 5, 25, 0.50),
        ("claude-opus-4-5", 5, 25, 0.50),
        ("claude-sonnet-5", 2, 10, 0.20),
        ("claude-sonnet-4-5", 3, 15, 0.30),
        ("claude-haiku-4-5", 1, 5, 0.10),
    ],
)
def test_the_rates_are_those_of_the_provider_s_page(model: str, input_: float, output: float, read: float) -> None:
    """facts §3, in USD per million tokens."""
    found = find_rates(model, at=1795219200.0, table=TABLE)
    assert found is not None
    per_million = (1e6 * found.fresh, 1e6 * found.output, 1e6 * found.read, 1e6 * found.write_5m, 1e6 * found.write_1h)
    assert per_million == pytest.approx((input_, output, read, 1.25 * input_, 2 * input_))


@pytest.mark.parametrize(
    ("model", "same"),
    [
        ("claude-3-5-sonnet-v2@20241022", "claude-3-5-sonnet"),
        ("anthropic.claude-3-5-sonnet-v2@20241022", "claude-3-5-sonnet"),
        ("anthropic.claude-3-5-sonnet-20241022-v2:0:200k", "claude-3-5-sonnet"),
        ("publishers/anthropic/models/claude-3-5-sonnet-v2@20241022", "claude-3-5-sonnet"),
        ("projects/p/locations/l/publishers/anthropic/models/claude-sonnet-4-5@20250929", "claude-sonnet-4-5"),
        ("claude-mythos-5@20260801", "claude-mythos-5"),
        ("claude-mythos-5-1-20260801", "claude-mythos-5-1"),
    ],
)
@pytest.mark.parametrize("provider", ["", "anthropic"])
def test_a_cloud_s_name_of_a_model_has_the_price_of_the_model(model: str, same: str, provider: str) -> None:
    found, expected = (find_rates(name, provider, 1795219200.0, table=TABLE) for name in (model, same))
    assert found is not None and expected is not None
    assert (found.fresh, found.output) == (expected.fresh, expected.output)


DAY = 1_764_460_800.0
"""Midnight (UTC) of a day."""


@pytest.mark.parametrize(
    ("hour", "usd"),
    [(0.0, 0.135), (0.49, 0.135), (0.5, 0.27), (12.0, 0.27), (16.49, 0.27), (16.5, 0.135), (23.9, 0.135)],
)
def test_a_price_of_the_night_is_that_of_the_call_s_hour(hour: float, usd: float) -> None:
    cost = price(Usage(fresh=1_000_000), "deepseek-chat", at=DAY + hour * 3600)
    assert cost is not None and cost.usd == pytest.approx(usd)


@pytest.mark.parametrize("hour", [0.0, 3.0, 12.0, 20.0])
def test_a_call_without_a_time_has_the_price_of_the_table_s_time(hour: float) -> None:
    """It was that of the hour of reading: the same recording cost half as much at night."""
    table = replace(TABLE, undated=DAY + hour * 3600)
    cost, dated = (price(Usage(fresh=1_000_000), "deepseek-chat", table=table, at=at) for at in (None, table.undated))
    assert cost is not None and dated is not None and cost.usd == dated.usd


def test_every_command_prices_it_as_at_noon() -> None:
    cost = price(Usage(fresh=1_000_000), "deepseek-chat", table=price_table())
    assert cost is not None and cost.usd == pytest.approx(0.27)
