"""A system prompt that says the date loses the cache at every call, and every command says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cases.dated_system import CALLS, DIALECTS, TOOLS, bodies
from tests.cli.conftest import Run
from tests.sampling import few

RULED = ("anthropic", "openai chat", "openai responses", "gemini")
"""Where there are rules for the cache, so that a miss can be foretold."""


@pytest.mark.parametrize("dialect", few(DIALECTS))
def test_a_date_in_the_system_prompt_is_a_miss_at_every_call_after_the_first(
    dialect: str, ctxtui: Run, tmp_path: Path
) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(bodies(dialect))
    assert ctxtui("show", path, "--json").json["session"]["threads"] == 1
    cache = ctxtui("cache", path, "--json").json
    found = sorted(cache["misses"], key=lambda one: one["call"])
    assert [one["call"] for one in found] == list(range(2, CALLS + 1))
    assert {one["cause"] for one in found} == {"system changed"}
    if dialect != "ollama":  # which reports nothing of its cache
        assert all(one["partial"] and one["read_tokens"] == TOOLS for one in found), "the tools were read"
    assert all(one["written_again_tokens"] > 3_000 for one in found), "the rules were written again, less their date"
    tested = CALLS - 1 if dialect in RULED else 0
    assert cache["tested"] == cache["foreseen"] == tested and not cache["false_alarms"]
    why = ctxtui("cost", "--why", path, "--json").json
    assert [one["call"] for one in sorted(why["rewrites"], key=lambda one: one["call"])] == list(range(2, CALLS + 1))
    assert ctxtui("check", path, "--max-rewrites", CALLS - 2).code == 8
    assert ctxtui("check", path, "--max-rewrites", CALLS - 1).code == 0
    audited = ctxtui("audit", path, "--json").json["cache_misses"]
    assert [(one["call"], one["foretold"]) for one in audited] == [(n, dialect in RULED) for n in range(2, CALLS + 1)]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_same_system_prompt_loses_nothing(dialect: str, ctxtui: Run, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(bodies(dialect, dated=False))
    assert ctxtui("cache", path, "--json").json["misses"] == []
    assert ctxtui("check", path, "--max-rewrites", 0).code == 0
