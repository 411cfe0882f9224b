"""Usage is priced at the terms of a call wherever edits of it are priced."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from ctxtui.analysis.call_choice import choose_call
from ctxtui.core.call import Call
from ctxtui.core.canonical import Json
from ctxtui.core.session import Session
from ctxtui.core.usage import Usage
from ctxtui.pricing.price import price_call
from ctxtui.services.config.package_data import model_table, price_table
from ctxtui.services.counting.accounts import Account
from ctxtui.services.counting.pricing import local_pricer
from ctxtui.services.editing.curate import charge_of
from ctxtui.services.editing.next_request import Charges, LaterCharges
from ctxtui.services.library.preflight import preflight
from tests.analysis.cache.test_audit import Talk
from tests.analysis.sessions import book

USAGE = Usage(fresh=1_000, cache_read=20_000, output=500)
SEARCHES: dict[str, Json] = {"server_tool_use": {"web_search_requests": 10}}
UNITS: dict[str, Json] = {"usage": {"billed_units": {"input_tokens": 10**6, "output_tokens": 10**6}}}
PASSES: dict[str, Json] = {
    "iterations": [
        {"type": "compaction", "input_tokens": 50_000, "output_tokens": 2_000},
        {"type": "message", "input_tokens": 1_000, "output_tokens": 500},
    ]
}


def call(extra: dict[str, Json]) -> Call:
    model = "claude-opus-4-6"
    return Call("a", "main", provider="anthropic", model=model, usage=USAGE, started=1.79e9, extra=extra)


def charges(extra: dict[str, Json]) -> list[float | None]:
    one, table, session = call(extra), price_table(), Session()
    counts = book(session, model_table())
    return [
        Account(session, counts, {}, table).charge(USAGE, one),
        charge_of(one, table)(USAGE, 1.79e9),
        Charges(local_pricer(table), one, USAGE.input)(USAGE, 1.79e9),
        LaterCharges(local_pricer(table))(USAGE, one),
    ]


@pytest.mark.parametrize("extra", [{}, {"service_tier": "batch"}, {"speed": "fast"}, {"inference_geo": "us"}])
def test_usage_is_priced_at_the_terms_of_the_call(extra: dict[str, Json]) -> None:
    cost = price_call(call(extra), price_table())
    assert cost is not None and charges(extra) == [pytest.approx(cost.usd)] * 4


@pytest.mark.parametrize("extra", [SEARCHES, PASSES, UNITS])
def test_what_the_call_cost_beside_its_usage_is_not_charged_again(extra: dict[str, Json]) -> None:
    cost = price_call(call({}), price_table())
    assert cost is not None and charges(extra) == [pytest.approx(cost.usd)] * 4


def test_an_outlook_does_not_repeat_what_the_last_call_searched() -> None:
    made = Talk()
    for _ in range(6):
        made.call()
    chosen, counts = choose_call(made.script.session), book(made.script.session, model_table())
    plain, searched = (
        preflight(counts, replace(chosen, call=replace(chosen.call, extra=extra)), 5, 0.75, price_table()).outlook.usd
        for extra in ({}, SEARCHES)
    )
    assert plain is not None and searched == plain


def test_an_outlook_does_not_repeat_what_was_billed_for_the_last_call() -> None:
    made = Talk()
    for _ in range(6):
        made.call()
    chosen, counts = choose_call(made.script.session), book(made.script.session, model_table())
    plain, billed = (
        preflight(counts, replace(chosen, call=replace(chosen.call, extra=extra)), 5, 0.75, price_table()).outlook.usd
        for extra in ({}, UNITS)
    )
    assert plain is not None and billed == plain
