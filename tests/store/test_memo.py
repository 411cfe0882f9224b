"""What is remembered: counts by block, summaries by file."""

from __future__ import annotations

import json
import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxtui.store.cache import _encode_counts
from ctxtui.store.rows import Glance, sql_text
from ctxtui.store.store import Store

DAY = 86_400.0
COUNTS = st.lists(st.floats(0, 1e12) | st.integers(0, 2**53), min_size=1, max_size=8).map(tuple)


@given(st.lists(COUNTS, min_size=1))
def test_counts_are_spelled_without_loss(counts: list[tuple[float, ...]]) -> None:
    spelled = _encode_counts(counts)
    assert [tuple(json.loads(one)) for one in spelled] == counts
    assert not any(".0," in one or ".0]" in one for one in spelled)


def test_counts_are_kept_by_way_of_counting(store: Store) -> None:
    a, b = "0" * 32, "f" * 32
    store.save_counts({a: (1.0, 0.0, 2.5), b: (3.0,)}, "o200k/openai/1")
    store.save_counts({a: (9.0,)}, "o200k/claude/1")
    assert store.load_counts([a, b, "1" * 32], "o200k/openai/1") == {a: (1.0, 0.0, 2.5), b: (3.0,)}
    assert store.load_counts([a, b], "o200k/claude/1") == {a: (9.0,)}
    assert store.load_counts([a], "never") == {}
    store.save_counts({a: (2.0,)}, "o200k/openai/1")
    assert store.load_counts([a], "o200k/openai/1") == {a: (2.0,)}
    store.save_counts({}, "o200k/openai/1")
    assert store.load_counts([], "o200k/openai/1") == {}


@pytest.mark.slow
def test_many_counts_take_no_time(store: Store) -> None:
    r = random.Random(1)
    counts = {f"{r.getrandbits(128):032x}": (float(r.randint(1, 999)), 0.0, 0.0, 1.0) for _ in range(100_000)}
    start = time.process_time()
    store.save_counts(counts, "o200k")
    saved = time.process_time()
    assert store.load_counts(counts, "o200k") == counts
    assert saved - start < 2, "a fourth of this on an idle machine"
    assert time.process_time() - saved < 2


def test_a_files_summary_is_remembered_until_it_changes(store: Store) -> None:
    mtime = 1_763_640_000.123456789
    store.save_summary("/a\udc80.jsonl", 10, mtime, "1", {"title": "é", "calls": [1, 2.5, None]})
    assert store.load_summary("/a\udc80.jsonl", 10, mtime, "1") == {"title": "é", "calls": [1, 2.5, None]}
    assert store.load_summary("/a\udc80.jsonl", 11, mtime, "1") is None
    assert store.load_summary("/a\udc80.jsonl", 10, mtime + 0.001, "1") is None
    assert store.load_summary("/a\udc80.jsonl", 10, mtime, "2") is None
    assert store.load_summary("/b", 10, mtime, "1") is None
    store.save_summary("/a\udc80.jsonl", 11, mtime, "1", {})
    assert store.load_summary("/a\udc80.jsonl", 10, mtime, "1") is None
    assert store.load_summary("/a\udc80.jsonl", 11, mtime, "1") == {}


def test_a_head_with_half_a_character_comes_back_as_text(store: Store) -> None:
    glance = Glance(3, "cut \ud83d", "/w\udce9", "1.0")
    store.save_glances({"/a/\udcff": glance})
    assert store.load_glances() == {sql_text("/a/\udcff"): glance}


def test_prune_forgets_what_is_old(store: Store) -> None:
    now = time.time()
    store.save_counts({"0" * 32: (1.0,)}, "old", now=now - 90 * DAY)
    store.save_counts({"1" * 32: (1.0,)}, "new", now=now)
    store.save_summary("/a", 1, 1.0, "1", {})
    store.prune(30 * DAY, now)
    assert store.load_counts(["0" * 32], "old") == {}
    assert store.load_counts(["1" * 32], "new") == {"1" * 32: (1.0,)}
    assert store.load_summary("/a", 1, 1.0, "1") == {}
