"""The sums behind the figures add up to what the panes show."""

from __future__ import annotations

import re

from msgspec.structs import replace

from ctxtui.analysis.context_window import ContextWindow
from ctxtui.core.category import INDEX
from ctxtui.views.glossary import arithmetic
from ctxtui.views.inspector.composition import CategoryPart, Composition, with_staged_edits
from ctxtui.views.inspector.header import Header
from ctxtui.views.inspector.this_call import CallPart, ThisCall
from ctxtui.views.text.signs import NOT_RECORDED
from ctxtui.views.text.span import Span
from tests.views.glossary.arithmetic_law import broken, claims
from tests.views.inspector.test_next_call import WARM


def figures(said: str) -> list[int]:
    return [int(text.replace(",", "")) for text in re.findall(r"\d[\d,]*", re.sub(r"±\d+ %", "", said))]


def test_a_report_is_the_sum_of_its_parts() -> None:
    parts = (
        CategoryPart(category=INDEX["user"], tokens=704, share=704 / 122_441, change=12),
        CategoryPart(category=INDEX["tool_result"], tokens=95_037, share=0.7),
        CategoryPart(category=NOT_RECORDED, tokens=13_904, share=0.1),
    )
    what = Composition(
        total=122_441,
        reported=True,
        half_width=0.1,
        parts=parts,
        residual=12_796,
        residual_cause="since call 77, likely lists.",
    )
    said = arithmetic.explain_context(what)
    assert said["residual"] == (
        "122,441 reported = 95,741 blocks ±10 % + 13,904 not recorded + 12,796 residual: since call 77, likely lists."
    )
    whole, *terms = figures(said["residual"])[:4]
    assert whole == sum(terms) == what.total
    assert said["user"].startswith("704 of 122,441 tokens = 0.6 %, +12 since the previous call.")


def test_a_call_is_the_sum_of_what_was_read_written_and_fresh() -> None:
    sign = Span("┃", "read")
    lines = tuple(
        CallPart(name, sign, name, tokens, usd)
        for name, tokens, usd in (
            ("read", 90_000, 0.045),
            ("write", 10_000, 0.0625),
            ("fresh", 5, 0.0),
            ("answer", 99, 0.0025),
        )
    )
    call = ThisCall(reported=True, lines=lines, total=0.11, priced=True, uncached=0.55, facts=())
    said = arithmetic.explain_this_call(call)
    assert said["read"].startswith(
        "90,000 read + 10,000 write + 5 fresh = 100,005 tokens of input. This is 90.0 % of it."
    )
    assert (
        "$0.50 per million" in said["read"] and said["cost"] == "$0.110 = $0.045 read + $0.062 write + $0.003 answer."
    )
    assert said["saves"] == "1 − $0.110 / $0.550 without a cache = 80.0 % saved."


def test_the_forecast_says_how_often_forecasts_were_right() -> None:
    said = arithmetic.explain_next_call(WARM, Header(title="a", call=3, record=(9, 10)))
    assert said["forecast right"] == "9 of the 10 forecasts so far were right: 90 %."
    assert "forecast right" not in arithmetic.explain_next_call(WARM)


def test_the_header_says_what_its_share_is_of() -> None:
    limits = ContextWindow(limit=200_000, usable=150_000, origin="client default")
    said = arithmetic.explain_header(Header(title="a", call=3, used=75_000, limits=limits, cost=1.5, priced=True))
    assert said["usable"].startswith("75,000 of 150,000 = 50 %. 150,000 usable of 200,000 (the client's default)")
    assert said["cost"] == "$1.50 for calls 1 to 3 of this thread."


def test_under_staged_edits_the_figures_are_those_of_the_pane() -> None:
    result = CategoryPart(category=INDEX["tool_result"], tokens=60_321, share=60_321 / 122_250)
    rest = CategoryPart(category=NOT_RECORDED, tokens=59_929, share=59_929 / 122_250)
    what = Composition(total=122_250, reported=True, half_width=0.1, parts=(result, rest), residual=2_000)
    under = with_staged_edits(what, {}, {INDEX["tool_result"]: -21_000}, 122_250, 101_250)
    assert (under.total, under.after, under.residual) == (122_250, 101_250, 2_000)
    said = arithmetic.explain_context(under)
    assert said["tool result"].startswith("39,321 of 101,250 tokens = 38.8 % under the staged edits; without them ")
    assert "60,321 of 122,250 tokens = 49.3 %" in said["tool result"]
    assert under.parts[0].share == 39_321 / 101_250, "what the pane shows"
    for text in said.values():
        assert list(claims(text)) and not broken(text)
    assert broken("60,321 of 120,250 tokens = 39.8 %") and broken("9 reported = 5 blocks ±10 % + 3 residual.")


def test_the_header_under_staged_edits_explains_the_share_that_it_shows() -> None:
    limits = ContextWindow(limit=200_000, usable=150_000, origin="client default")
    what = Header(title="a", call=3, used=122_250, after=101_250, limits=limits)
    said = arithmetic.explain_header(what)["usable"]
    assert said.startswith("101,250 of 150,000 = 68 % under the staged edits") and not broken(said)


def test_a_cost_names_what_has_no_line_and_why_it_is_a_minimum() -> None:
    sign = Span("┃", "read")
    lines = (CallPart("fresh", sign, "fresh", 1000, 0.01), CallPart("answer", sign, "ink", 99, 0.02))
    call = ThisCall(reported=True, lines=lines, total=0.06, priced=True, uncached=None, facts=(), partial=True)
    assert arithmetic.explain_this_call(call)["cost"] == (
        "$0.060 = $0.010 fresh + $0.020 answer + $0.030 other. This is a minimum: a price is not known."
    )
    cut = replace(call, total=0.03, lines=(lines[0], replace(lines[1], partial=True)))
    assert arithmetic.explain_this_call(cut)["cost"] == (
        "$0.030 = $0.010 fresh + $0.020 answer. This is a minimum: the answer was only partly reported."
    )
