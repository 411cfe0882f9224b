"""`ctxtui stats`: all sessions by what one asks for, as text and as JSON; what cannot be asked is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxtui.services.library.stats import WAYS
from tests.cases.claude_code_requests import parallel
from tests.cli.conftest import Run


def test_sessions_of_a_folder_add_up(ctxtui: Run) -> None:
    Path("logs").mkdir()
    Path("logs/one.jsonl").write_bytes(parallel().dump())
    Path("logs/copy.jsonl").write_bytes(parallel().dump())
    cost = ctxtui("cost", "logs", "--json").json
    for way in WAYS:
        ran = ctxtui("stats", "logs", "--by", way, "--json")
        assert ran.code == 0 and ran.json["by"] == way
        total = ran.json["total"]
        assert (total["calls"], total["usd"]) == (cost["calls"], pytest.approx(cost["total_usd"]))
        assert total["input"] + total["output"] == cost["tokens"]
        if way != "tool":
            assert sum(row["calls"] for row in ran.json["rows"]) == total["calls"]
    told = ctxtui("stats", "logs", "--by", "model").out
    assert "list price" in told and "tools" in told and "all" in told


def test_a_change_is_told_with_both_sides(ctxtui: Run) -> None:
    Path("logs").mkdir()
    Path("logs/one.jsonl").write_bytes(parallel().dump())
    ran = ctxtui("stats", "logs", "--change", "client-version=9.9.9", "--json")
    comparison = ran.json["comparison"]
    assert comparison["before"]["calls"] == ran.json["total"]["calls"] and comparison["after"]["calls"] == 0
    assert not any(one["difference_shown"] for one in comparison["metrics"])
    told = ctxtui("stats", "logs", "--change", "2001-01-01").out
    assert "before and after 2001-01-01" in told and "too few sessions to tell" in told


def test_what_cannot_be_asked_is_told(ctxtui: Run) -> None:
    ran = ctxtui("stats", "--change", "yesterday")
    assert ran.code == 2 and "a date such as" in ran.err
    assert "is no folder" in ctxtui("stats", "nowhere").err
    assert ctxtui("stats", "--since", "soon").code == 2
