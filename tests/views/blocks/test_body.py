"""Opened blocks: wrapped to any width without loss, and only as far as they are looked at."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from ctxtui.views.blocks.body import Body, wrap
from ctxtui.views.text import safe_text
from ctxtui.views.text.span import Span, plain, width

words = st.text(st.sampled_from("ab \u767b\u5f55e\u0301x"), max_size=60)


@given(st.lists(st.tuples(words, st.sampled_from(["ink", "dim"])), max_size=5), st.integers(1, 30), st.integers(0, 8))
def test_wrapping_keeps_every_letter_and_the_width(parts: list[tuple[str, str]], room: int, hang: int) -> None:
    spans = [Span(text, style) for text, style in parts]
    lines = list(wrap(spans, room, hang))
    if room > 1:
        assert all(width(line) <= room for line in lines)
    assert "".join(plain(line) for line in lines).replace(" ", "") == plain(spans).replace(" ", "")


def test_lines_left_are_counted_without_reading_them() -> None:
    body = Body(iter([[Span(f"line {n}")] for n in range(20)]), 40, total=20)
    assert body.height(6) == 6
    assert body.count_hidden(6) == 14
    assert plain(body.line(5) or []) == "line 5"
    assert body.count_hidden(20) == 0 and body.line(20) is None


def test_of_an_unknown_number_nothing_is_claimed() -> None:
    body = Body(iter([[Span("x")] for _ in range(900)]), 10)
    assert body.count_hidden(5) is None
    assert body.height(1000) == 900 and body.count_hidden(880) == 20
    assert Body(iter([[Span("x")] for _ in range(90)]), 10).count_hidden(5) == 85


def test_ten_megabytes_open_as_fast_as_ten_lines() -> None:
    text = "a line of some words\n" * 500_000
    begun = time.process_time()
    body = Body(([Span(line)] for line in safe_text.lines(text)), 60, total=500_000)
    assert body.height(12) == 12 and body.count_hidden(12) == 499_988
    one_line = Body(([Span(line)] for line in safe_text.lines("x" * 10_000_000)), 60, total=1)
    assert one_line.height(12) == 12
    assert time.process_time() - begun < 0.1


def test_lines_that_lead_are_shown_beside_those_asked_for() -> None:
    body = Body(iter([[Span(f"line {n}")] for n in range(20)]), 40, total=20, lead=3)
    assert body.height(6) == 9 and body.count_hidden(9) == 11
    assert Body(iter([[Span("x")]]), 40, lead=3).height(6) == 1
