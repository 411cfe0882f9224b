"""The dashboard of speed: its registry, its table, and that the document quotes what is on record."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import checkout, speed_page, table
from benchmarks.goals import paint
from benchmarks.measure import Result, agreed, not_run, ratio, settled
from benchmarks.peers import peer
from benchmarks.registry import FAMILIES, Family, chosen
from benchmarks.running import Run

ROOT = Path(__file__).resolve().parent.parent


def test_each_goal_is_measured_by_a_module_that_is_there() -> None:
    for family in FAMILIES:
        assert callable(family.load().results)
    assert {one.module for one in chosen(["keys"])} == {"goals.keys"}
    assert chosen([]) == list(FAMILIES)


def test_a_line_tells_figure_limit_and_margin() -> None:
    met, missed = Result("G1", "a", "b", 0.8, 1.0), Result("G1", "c", "", 66.0, 60.0, "ms")
    idle = not_run("G2", "d", "ccusage", "no ccusage", 1.0)
    assert table.numbers(met) == ("0.8x", "<= 1", "+20 %") and table.line(met).startswith("ok")
    assert table.numbers(missed) == ("66 ms", "<= 60", "-10 %") and table.line(missed).startswith("MISS")
    assert table.numbers(idle) == ("not run", "<= 1", "") and idle.met and "no ccusage" in table.line(idle)
    told = table.markdown([met, missed, idle])
    assert [row.split(" | ")[1] for row in told[2:]] == ["a", "c", "d"]
    assert [Result.of(json.loads(json.dumps(one.as_fields()))) for one in (met, missed, idle)] == [met, missed, idle]


def test_the_document_quotes_the_table_on_record() -> None:
    text = speed_page.PAGE.read_text(encoding="utf-8")
    assert speed_page.placed(text, speed_page.on_record()) == text
    assert "| help |" in text


def test_another_checkout_brings_its_ctxtui_and_nothing_else(tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / "ctxtui").mkdir(parents=True)
    with pytest.raises(checkout.NoCheckout, match="is no checkout of ctxtui"):
        checkout.overlay(other, tmp_path / "a")
    (other / "ctxtui" / "__init__.py").write_text("")
    root = checkout.overlay(other, tmp_path / "b")
    assert (root / "ctxtui").resolve() == other / "ctxtui" and (root / "benchmarks").resolve() == ROOT / "benchmarks"


def test_a_module_that_fails_or_takes_too_long_loses_its_own_rows_only(tmp_path: Path) -> None:
    (tmp_path / "benchmarks").mkdir()
    for part in (ROOT / "benchmarks").iterdir():
        (tmp_path / "benchmarks" / part.name).symlink_to(part)
    row = """
from benchmarks.measure import Result
def results(folder, runs):
    yield Result("x", "the first", "", float(runs))
"""
    fails, hangs = "    raise KeyError('no such figure')", "    import time; time.sleep(600)"
    found: dict[str, list[Result]] = {}
    for name, ending in {"fine": "", "broken": fails, "stuck": hangs}.items():
        (tmp_path / "benchmarks" / f"{name}.py").write_text(row + ending)
        run = Run(Family(name, "x", 1), 4, tmp_path, root=tmp_path)
        found[name] = []
        for one in run.whole():
            found[name].append(one)
            if name == "stuck":
                run.stop()
    assert all(rows[0] == Result("x", "the first", "", 4.0) for rows in found.values())
    assert len(found["fine"]) == 1
    assert found["broken"][1].value is None and "KeyError: 'no such figure'" in found["broken"][1].note
    assert found["stuck"][1].value is None and found["stuck"][1].note == "not run: not done after 60 s"


def test_pairs_that_agree_need_no_more_of_them() -> None:
    assert agreed([1.0, 1.02, 1.03]) and not agreed([1.0, 1.02]) and not agreed([1.0, 1.02, 1.1])
    ran: list[float] = []

    def ours() -> float:
        ran.append(0.0)
        return 2.0

    assert ratio(ours, lambda: 1.0, 9) == (2.0, 2.0, 1.0) and len(ran) == 4, "a warm-up and three"


def test_first_screenfuls_are_measured_until_every_figure_is_sure() -> None:
    assert settled(max, [1.0, 1.0, 1.0]) and not settled(max, [1.0, 1.0]) and not settled(max, [1.0, 1.0, 1.1])
    # Beside each other in most of many rounds: a few that something was in the way of move no median.
    assert settled(lambda some: sorted(some)[len(some) // 2], [*[1.0, 1.01] * 10, 2.0, 3.0])
    same = {paint.APP: 0.2, paint.HOME: 0.21, paint.SHOWN: 0.22}
    assert paint.enough([same] * 3) and not paint.enough([same] * 2)
    wavering = [{**same, paint.SHOWN: 0.22 * share} for share in (1.0, 1.1, 0.9, 1.2)]
    assert not paint.enough(wavering), "the other alone does not tell"
    shown = [figure.result([same] * 3) for figure in paint.FIGURES]
    assert [one.goal for one in shown] == ["start"] * 2 and shown[-1].value == pytest.approx(1.1)
    assert shown[-1].note == "220 / 200 ms; 80 %: 1.100 to 1.100; 3 rounds"


def test_a_peer_is_where_its_variable_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BENCH_CCUSAGE", str(tmp_path / "ccusage"))
    assert peer("ccusage") is None
    (tmp_path / "ccusage").touch()
    assert peer("ccusage") == str(tmp_path / "ccusage")
    monkeypatch.delenv("BENCH_CCUSAGE")
    modules = tmp_path / "node_modules" / ".bin"
    modules.mkdir(parents=True)
    (modules / "ccusage").touch(mode=0o755)
    for place in (modules.parent, tmp_path):
        monkeypatch.setenv("BENCH_PEERS", f"{tmp_path / 'env'}:{place}")
        assert peer("ccusage") == str(modules / "ccusage")


def test_an_unknown_goal_is_named_with_those_there_are() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--only", "G99"], capture_output=True, text=True, cwd=ROOT
    )
    assert run.returncode == 2 and "no such goal: G99" in run.stderr and "keys" in run.stderr


def test_two_checkouts_are_held_against_each_other_row_by_row() -> None:
    bare, peer = Result("G1", "help", "python", 2.0, 2.5), Result("G1", "help", "tl", 0.1, 1.0)
    off = Result("G7", "off by", "", 0.0, 0.0, "tokens")
    one = {(row.name, row.peer): row for row in (bare, peer, off)}
    other = {**one, ("help", "tl"): dataclasses.replace(peer, value=0.2)}
    found = {row: checkout.held(row, [(one, other), (one, other)]) for row in one}
    assert [found[row].value for row in one] == [1.0, 0.5, 1.0]
    assert checkout.held(("help", "tl"), [(one, {})]).value is None
    # What only one side has is a row, too, and says what kept the other from it.
    alone = checkout.held(("help", "tl"), [({}, one)], "here: it failed")
    assert alone.value is None and alone.note == "not run: here: it failed"
    idle = {("help", "tl"): not_run("G1", "help", "tl", "no tl")}
    assert checkout.held(("help", "tl"), [(one, idle)]).note == "not run: by the other checkout: no tl"
    early = {("lag", ""): Result("G11", "lag", "", -0.3, 50, "ms")}
    assert (
        checkout.held(("lag", ""), [(early, {("lag", ""): dataclasses.replace(early["lag", ""], value=2.0)})]).value
        is None
    )
