"""Prices in columns are those that were put into them, and what is priced here stands before them."""

from __future__ import annotations

import pytest

from ctxtui.core.call import Call
from ctxtui.pricing.price import Cost
from ctxtui.services.study.call_costs import ByCall, price_columns, take_columns

CALLS = [Call(id_, "main") for id_ in "abc"]
ONE = Cost(1.5, fresh=0.5, read=0.25, write=0.25, output=0.5, version="v1")
OTHER = Cost(0.1 + 0.2, fresh=0.1, read=0.0, write=0.0, output=0.2, version="v2", other=1e-9)


def taken() -> tuple[ByCall[Cost | None], ByCall[float]]:
    costs: ByCall[Cost | None] = ByCall()
    uncached: ByCall[float] = ByCall()
    take_columns(CALLS, price_columns(CALLS, {"a": ONE, "b": None, "c": OTHER}, {"a": 2.5}), costs, uncached)
    return costs, uncached


def test_prices_are_those_that_were_put_into_columns() -> None:
    costs, uncached = taken()
    assert costs == {"a": ONE, "b": None, "c": OTHER} and len(costs) == 3
    assert uncached == {"a": 2.5} and uncached.get("b") is None and "c" not in uncached
    assert "b" in costs and costs.get("d") is None and "d" not in costs
    with pytest.raises(KeyError):
        _ = costs["d"]


def test_what_is_priced_here_stands_before_what_came() -> None:
    costs, uncached = taken()
    costs["b"], costs["d"] = ONE, OTHER
    uncached["b"] = 1.0
    assert costs == {"a": ONE, "b": ONE, "c": OTHER, "d": OTHER} and len(costs) == 4
    assert uncached == {"a": 2.5, "b": 1.0}
