from __future__ import annotations

import math
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxtui.views.text import cells, numbers


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0"), (7, "7"), (999, "999"), (999.4, "999"), (999.5, "1.0k"), (1000, "1.0k"), (1049, "1.0k"),
        (1050, "1.1k"), (122_441, "122.4k"), (999_949, "999.9k"), (999_950, "1.00M"), (1_405_000, "1.41M"),
        (26_970_000, "26.97M"), (99_994_999, "99.99M"), (99_995_000, "100.0M"), (140_200_000, "140.2M"),
        (999_949_999, "999.9M"), (999_950_000, "1.00G"), (10**12, "1.00T"), (-12, "−12"), (-0.3, "0"), (math.inf, "∞"),
    ],
)  # fmt: skip
def test_tokens(count: float, shown: str) -> None:
    assert numbers.tokens(count) == shown


@given(st.integers(0, 10**26))
def test_tokens_never_outgrow_six_cells_and_are_near(count: int) -> None:
    short = numbers.tokens(count)
    assert cells.width(short) <= 6
    unit = {"k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18, "Z": 21, "Y": 24}.get(short[-1], 0)
    value = float(short.rstrip("kMGTPEZY")) * 10**unit
    assert value == pytest.approx(count, rel=0.0503 if unit == 3 else 0.0051 if unit else 0)


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_tokens_keep_order(a: int, b: int) -> None:
    def value(short: str) -> float:
        return float(short.rstrip("kMG")) * {"k": 1e3, "M": 1e6, "G": 1e9}.get(short[-1], 1)

    low, high = sorted((a, b))
    assert value(numbers.tokens(low)) <= value(numbers.tokens(high))


@given(st.integers(-(10**15), 10**15))
def test_signed_takes_seven_cells(count: int) -> None:
    short = numbers.signed(count)
    assert cells.width(short) <= 7
    assert (short[0] in "+−") == (count != 0)


def test_signed_uses_the_minus_sign() -> None:
    assert numbers.signed(-46_700) == "−46.7k"
    assert numbers.signed(1900) == "+1.9k"
    assert numbers.signed(0.2) == "0"


@pytest.mark.parametrize(
    ("usd", "shown"),
    [
        (0, "$0.000"), (0.0004, "$0.000"), (0.047, "$0.047"), (0.9994, "$0.999"), (0.9996, "$1.00"),
        (2.04, "$2.04"), (1204, "$1,204.00"), (53.856, "$53.86"), (-0.876, "−$0.876"), (-0.0001, "$0.000"),
        (None, "unknown"), (math.nan, "unknown"),
    ],
)  # fmt: skip
def test_money(usd: float | None, shown: str) -> None:
    assert numbers.money(usd) == shown


def test_signed_money() -> None:
    assert numbers.signed_money(0.729) == "+$0.729"
    assert numbers.signed_money(-0.876) == "−$0.876"
    assert numbers.signed_money(0.0001) == "$0.000"
    assert numbers.signed_money(None) == "unknown"


def test_shares_and_intervals() -> None:
    assert numbers.share(0.467) == "46.7 %"
    assert numbers.share(0.467, 0) == "47 %"
    assert [numbers.share(-0.004, 0), numbers.share(-0.006, 0), numbers.share(-0.0001)] == ["0 %", "−1 %", "0.0 %"]
    assert numbers.share(math.nan) == "–"
    assert numbers.interval(1000, 996, 1003) == "±0.4 %"
    assert numbers.interval(1000, 700, 1350) == "±35 %"
    assert numbers.interval(1000, 1000, 1000) == ""
    assert numbers.interval(0, 0, 5) == ""


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (281, "4:41"), (0, "0:00"), (-5, "0:00"), (3599.9, "59:59"), (3600, "1 h"), (86399, "23 h"), (86400, "1 d"),
        (3 * 86400, "3 d"), (1000 * 86400, "2 y"), (None, "?"), (1e15, "999 y"),
    ],
)  # fmt: skip
def test_ago(seconds: float | None, shown: str) -> None:
    assert numbers.ago(seconds) == shown
    assert cells.width(shown) <= 5


def test_the_rest() -> None:
    assert numbers.exact(122_441) == "122,441"
    assert numbers.exact(-12) == "−12"
    assert numbers.guessed(4100) == "?4.1k"
    assert numbers.typical(180) == "~180"
    assert numbers.unread(18) == "(18)"
    assert numbers.clock(datetime(2026, 1, 2, 5, 8, 41, tzinfo=UTC)) == "05:08:41"
    assert numbers.clock(None) == "?"
