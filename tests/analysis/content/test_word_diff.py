"""Word diffs: what they say makes up both texts, and long texts cost no more than they should."""

from __future__ import annotations

import time
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ctxtui.analysis.content.word_diff import ADDED, REMOVED, SAME, DiffSpan, word_diff
from ctxtui.core.sequence_diff import align
from tests.cases.words import Words

texts = st.lists(st.sampled_from(["a", "bb ", " ", "\n", "c-d", "é", "\r\n", "x=1;"]), max_size=30).map("".join)


@given(texts, texts)
def test_the_pieces_make_up_both_texts(before: str, after: str) -> None:
    pieces = word_diff(before, after)
    assert "".join(p.text for p in pieces if p.kind != ADDED) == before
    assert "".join(p.text for p in pieces if p.kind != REMOVED) == after
    assert all(p.text for p in pieces)
    assert all(a.kind != b.kind for a, b in pairwise(pieces))
    assert (
        (pieces == [DiffSpan(SAME, before)] or not before) if before == after else any(p.kind != SAME for p in pieces)
    )


@given(st.lists(st.integers(0, 5), max_size=25), st.lists(st.integers(0, 5), max_size=25))
def test_aligned_ranges_cover_both_sides_in_order(a: list[int], b: list[int]) -> None:
    at = (0, 0)
    for (start, end), (first, last) in align(a, b):
        assert (start, first) == at and (end > start or last > first)
        equal = a[start:end] == b[first:last]
        assert equal or not set(a[start:end]) & set(b[first:last])
        at = (end, last)
    assert at == (len(a), len(b))


def test_a_date_that_changed_is_one_word() -> None:
    assert word_diff("Today is 2026-01-01. Be brief.\n", "Today is 2026-01-02. Be brief.\n") == [
        DiffSpan(SAME, "Today is 2026-01-"),
        DiffSpan(REMOVED, "01"),
        DiffSpan(ADDED, "02"),
        DiffSpan(SAME, ". Be brief.\n"),
    ]


def test_words_that_changed_side_by_side_are_one_change() -> None:
    assert word_diff("kept in an env variable.", "kept in a new file.") == [
        DiffSpan(SAME, "kept in "),
        DiffSpan(REMOVED, "an env variable"),
        DiffSpan(ADDED, "a new file"),
        DiffSpan(SAME, "."),
    ]


def test_long_texts_take_time_as_their_length() -> None:
    words = Words(1)
    one, other = words.text(400_000), words.text(400_000)
    began = time.process_time()
    assert word_diff(one, other)
    assert word_diff(one.replace(" ", "\n"), other.replace(" ", "\n"))
    assert time.process_time() - began < 4.0


def test_a_few_common_words_do_not_make_two_sentences_one() -> None:
    pieces = word_diff("The list is longer than the screen.", "The cat sat on the mat and slept.")
    assert [p.kind for p in pieces] == [SAME, REMOVED, ADDED, SAME]
