"""The dashboard of speed: its registry, its table, and that the documents quote what is on record."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import checkout, speed_page, table
from benchmarks.measure import Result, not_run
from benchmarks.peers import peer
from benchmarks.registry import FAMILIES, chosen, goals

ROOT = Path(__file__).resolve().parent.parent


def test_each_goal_of_speed_is_measured_by_a_module_that_is_there() -> None:
    assert {f"G{n}" for n in range(1, 19)} <= set(goals())
    for family in FAMILIES:
        assert callable(family.load().results)
    assert {one.module for one in chosen(["G9"])} == {"goals.keys"}
    assert chosen([]) == list(FAMILIES)


def test_a_line_tells_figure_limit_and_margin() -> None:
    met, missed = Result("G1", "a", "b", 0.8, 1.0), Result("G1", "c", "", 66.0, 60.0, "ms")
    idle = not_run("G2", "d", "ccusage", "no ccusage", 1.0)
    assert table.numbers(met) == ("0.8x", "<= 1", "+20 %") and table.line(met).startswith("ok")
    assert table.numbers(missed) == ("66 ms", "<= 60", "-10 %") and table.line(missed).startswith("MISS")
    assert table.numbers(idle) == ("not run", "<= 1", "") and idle.met and "no ccusage" in table.line(idle)
    # Of each goal the one nearest to its limit, or furthest beyond.
    told = table.markdown([met, missed, idle], worst_only=True)
    assert [line.split(" | ")[1] for line in told[2:-2]] == ["c"] and told[-1] == "Not run: G2."
    assert [Result.of(json.loads(json.dumps(one.as_fields()))) for one in (met, missed, idle)] == [met, missed, idle]


@pytest.mark.parametrize(("name", "worst_only"), speed_page.PLACES.items())
def test_the_documents_quote_the_table_on_record(name: str, worst_only: bool) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert speed_page.placed(text, speed_page.on_record(), worst_only=worst_only) == text
    assert "| G1 |" in text


def test_what_was_measured_alone_takes_the_place_of_its_rows() -> None:
    before = [Result("G1", "a", "", 3.0), not_run("G5", "Counting", "", "it failed"), Result("G7", "b", "", 8.0)]
    new = [Result("G5", "figures", "", 1.0), Result("G5", "again", "", 0.8), Result("G7", "b", "", 2.0)]
    found = speed_page.merged(before, new)
    assert [(one.goal, one.name, one.value) for one in found] == [
        ("G1", "a", 3.0),
        ("G5", "figures", 1.0),
        ("G5", "again", 0.8),
        ("G7", "b", 2.0),
    ]


def test_another_checkout_brings_its_ctxtui_and_nothing_else(tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / "ctxtui").mkdir(parents=True)
    with pytest.raises(checkout.NoCheckout, match="is no checkout of ctxtui"):
        checkout.overlay(other, tmp_path / "a")
    (other / "ctxtui" / "__init__.py").write_text("")
    root = checkout.overlay(other, tmp_path / "b")
    assert (root / "ctxtui").resolve() == other / "ctxtui" and (root / "benchmarks").resolve() == ROOT / "benchmarks"


def test_a_peer_is_where_its_variable_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BENCH_CCUSAGE", str(tmp_path / "ccusage"))
    assert peer("ccusage") is None
    (tmp_path / "ccusage").touch()
    assert peer("ccusage") == str(tmp_path / "ccusage")


def test_an_unknown_goal_is_named_with_those_there_are() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--only", "G99"], capture_output=True, text=True, cwd=ROOT
    )
    assert run.returncode == 2 and "no such goal: G99" in run.stderr and "G18" in run.stderr
