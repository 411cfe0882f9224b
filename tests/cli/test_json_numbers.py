"""Numbers in JSON end where their digits do."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxtui.cli import output
from ctxtui.core.canonical import Number


def said(fields: dict[str, object], capsys: pytest.CaptureFixture[str]) -> str:
    output.write_json(fields)
    return capsys.readouterr().out


def test_a_sum_of_money_has_no_dust(capsys: pytest.CaptureFixture[str]) -> None:
    fields = {"usd": sum([0.1] * 3), "rows": [{"usd": 62.46004604999999}], "none": None, "n": 3, "pair": (0.1 + 0.7, 1)}
    text = said(fields, capsys)
    assert json.loads(text) == {
        "schema_version": 1, "usd": 0.3, "rows": [{"usd": 62.46004605}], "none": None, "n": 3, "pair": [0.8, 1]
    }  # fmt: skip
    assert '"usd": 0.3,' in text


def test_what_a_recording_spells_stays(capsys: pytest.CaptureFixture[str]) -> None:
    assert '"x": 1e-15' in said({"x": Number("1e-15")}, capsys)


@given(st.lists(st.integers(0, 3_000_000), min_size=1, max_size=40))
def test_any_sum_of_prices_is_its_decimal(tokens: list[int]) -> None:
    whole = sum(count * 0.0000003 for count in tokens)
    assert output._round_floats(whole) == round(sum(tokens) * 3 / 10_000_000, 12)
