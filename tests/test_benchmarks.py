"""The dashboard of speed: its registry, its table, and that the documents quote what is on record."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks import checkout, speed_page, subject, table
from benchmarks.goals import paint, relay
from benchmarks.measure import Result, agreed, not_run, ratio, settled, sure
from benchmarks.peers import peer
from benchmarks.registry import FAMILIES, Family, chosen, goals
from benchmarks.running import Run
from ctxtui.dataclasses import replace

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


def test_a_figure_held_against_two_peers_is_two_rows_on_record() -> None:
    before = [Result("G14", "first chunk", "mitmproxy", 0.2), Result("G14", "first chunk", "LiteLLM", 0.03)]
    found = speed_page.merged(before, [replace(before[1], value=0.05)])
    assert [(one.peer, one.value) for one in found] == [("mitmproxy", 0.2), ("LiteLLM", 0.05)]


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
        run = Run(Family(name, ("x",), 1), 4, tmp_path, root=tmp_path)
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
    same = {paint.APP: 0.2, paint.OWN: 0.2, paint.SHOWN: 0.21, paint.STORED: 0.22, paint.READ: 0.23}
    assert paint.enough([same] * 3) and not paint.enough([same] * 2)
    wavering = [{**same, paint.STORED: 0.22 * share} for share in (1.0, 1.1, 0.9, 1.2)]
    assert not paint.enough(wavering), "the others alone do not tell"
    shown = [figure.result([same] * 3) for figure in paint.FIGURES]
    assert [one.goal for one in shown] == ["G2", *["G3"] * 5] and shown[-1].value == pytest.approx(1.1)
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
    assert run.returncode == 2 and "no such goal: G99" in run.stderr and "G18" in run.stderr


def test_two_checkouts_are_held_against_each_other_row_by_row() -> None:
    bare, peer = Result("G1", "help", "python", 2.0, 2.5), Result("G1", "help", "tl", 0.1, 1.0)
    off = Result("G7", "off by", "", 0.0, 0.0, "tokens")
    one = {(row.name, row.peer): row for row in (bare, peer, off)}
    other = {**one, ("help", "tl"): replace(peer, value=0.2)}
    found = {row: checkout.held(row, [(one, other), (one, other)]) for row in one}
    assert [found[row].value for row in one] == [1.0, 0.5, 1.0]
    assert checkout.held(("help", "tl"), [(one, {})]).value is None
    # What only one side has is a row, too, and says what kept the other from it.
    alone = checkout.held(("help", "tl"), [({}, one)], "here: it failed")
    assert alone.value is None and alone.note == "not run: here: it failed"
    idle = {("help", "tl"): not_run("G1", "help", "tl", "no tl")}
    assert checkout.held(("help", "tl"), [(one, idle)]).note == "not run: by the other checkout: no tl"
    early = {("lag", ""): Result("G11", "lag", "", -0.3, 50, "ms")}
    assert checkout.held(("lag", ""), [(early, {("lag", ""): replace(early["lag", ""], value=2.0)})]).value is None


def test_what_the_measured_checkout_lacks_costs_the_rows_that_need_it() -> None:
    def rows(of: object) -> Iterator[Result]:
        yield Result("x", "before", "", 1.0)
        subject.wanted(of=of)
        yield Result("x", "with it", "", 2.0)

    assert [one.name for one in subject.unless_lacking("x", "with it", rows(len))] == ["before", "with it"]
    lacking = list(subject.unless_lacking("x", "with it", rows(None)))
    assert [one.name for one in lacking] == ["before", "with it"] and lacking[1].note == "not run: no of"
    assert subject.replace(Result("x", "a", "", 1.0), value=2.0).value == 2.0, "of a class of the standard library"
    assert subject._of("core.session", "Session") and subject._of("core.no_such_module", "x") is None


def test_the_p99_of_a_relay_is_of_all_rounds_and_not_of_one_delay() -> None:
    # Each round: 500 chunks without a relay, through the raw one, through ours; in one of 20 a program was in the way.
    plain = ([0.1] * 500, [0.2] * 495 + [0.3] * 5, [0.2] * 485 + [0.4] * 15)
    disturbed = ([0.1] * 500, [0.2] * 500, [9.0] * 60 + [0.2] * 440)
    found = relay._tail([plain] * 19 + [disturbed])
    assert found.value == pytest.approx((0.4 - 0.1) / (0.2 - 0.1)) and "20 rounds" in found.note
    alike = relay._tail([([0.1] * 500, [0.3] * 500, [0.3] * 500)] * 4)
    assert alike.value == 1.0 and "80 %: 1.00 to 1.00" in alike.note
    assert sure(lambda some: sum(some) / len(some), [1.0, 2.0, 3.0])[0] < 2 < sure(max, [1.0, 2.0, 3.0])[1] == 3
