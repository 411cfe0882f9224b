"""Limits as a user writes them, and the figures that an earlier check wrote."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ctxtui.analysis.money.limits import Limits
from ctxtui.core.errors import BadConfig, Malformed
from ctxtui.services.library.limit_checks import baseline_for, parse_count, parse_limits, read_baseline


@pytest.mark.parametrize("text", ["[" * 100_000, '{"files": [{"figures": 5}]}', '{"files": {}}', "\x00"])
def test_another_kind_of_file_is_no_baseline(text: str, tmp_path: Path) -> None:
    (tmp_path / "base.json").write_text(text)
    with pytest.raises(Malformed):
        read_baseline(tmp_path / "base.json")


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("1.5M", 1_500_000), (".5k", 500), ("10_000", 10_000), ("10,000", 10_000), ("1,234,567k", 1_234_567_000),
        *((text, None) for text in ("9" * 400, "k", "", ".", "1,5", "1,5k", "1_0.5", ".5", "0.4", "100000.0")),
    ],
)  # fmt: skip
def test_a_count_is_an_amount_or_refused(text: str, count: int | None) -> None:
    if count is not None:
        assert parse_count(text, "--max-tokens") == count
        return
    with pytest.raises(BadConfig):
        parse_count(text, "--max-tokens")


def test_a_baseline_is_that_of_the_same_path_or_else_of_the_only_such_name(tmp_path: Path) -> None:
    files = [{"file": f"{case}/trace.jsonl", "figures": {"calls": calls}} for case, calls in (("a", 1), ("b", 2))]
    (tmp_path / "base.json").write_text(json.dumps({"files": files}))
    both = read_baseline(tmp_path / "base.json")
    one = {"a/trace.jsonl": both["a/trace.jsonl"]}
    assert [baseline_for(f"{case}/trace.jsonl", both, False) for case in "abc"] == [{"calls": 1}, {"calls": 2}, None]
    assert baseline_for("c/trace.jsonl", one, False) == {"calls": 1} == baseline_for("new.jsonl", one, True)
    assert baseline_for("new.jsonl", one, False) is None


def test_limits_are_parsed_by_their_names() -> None:
    options = {"max_context": "100k", "max_block_chars": 500, "min_cache_read": 0.3, "max_cost": None}
    assert parse_limits(options) == Limits(max_context=100_000, max_block_chars=500, min_cache_read=0.3)
    assert parse_limits({"no_secrets": True, "max_rewrites": 2}) == Limits(max_secrets=0, max_rewrites=2)
    with pytest.raises(BadConfig, match="--max-context: '9 apples' is not a count"):
        parse_limits({"max_context": "9 apples"}, lambda name: f"--{name.replace('_', '-')}")
    with pytest.raises(TypeError):
        parse_limits({"max_contexts": 5})
