"""`ctxtui cost`, `why`, `check`: figures add up, names and days are found, exit codes say what they mean."""

from __future__ import annotations

import json
import os
import re
import time
from datetime import datetime
from pathlib import Path
from xml.etree import ElementTree

import pytest

from ctxtui.services.library.totals.spending import WAYS
from tests.cli.conftest import Run
from tests.corpus import every_recording
from tests.services.lookalike import claude_code

PARTS = ["carry", "rewrites", "first writes", "output", "keep warm", "other", "recorded"]


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "run.jsonl"
    path.write_bytes(claude_code(6))
    return path


@pytest.mark.parametrize("by", WAYS)
def test_rows_add_up_to_the_total(ctxtui: Run, recording: Path, by: str) -> None:
    found = ctxtui("cost", recording, "--by", by, "--json").json
    assert found["by"] == by and found["total_usd"] > 0 and found["prices"] == "list price"
    assert sum(row["usd"] or 0 for row in found["rows"]) == pytest.approx(found["total_usd"])
    text = ctxtui("cost", recording, "--by", by).out
    assert text.splitlines()[-1].split()[1] == "total" and "list price" in text


def test_a_call_that_stands_in_two_files_is_counted_once(ctxtui: Run, recording: Path) -> None:
    copy = recording.with_name("copy.jsonl")
    copy.write_bytes(recording.read_bytes())
    once, twice = (ctxtui("cost", *paths, "--json").json for paths in ([recording], [recording, copy]))
    for by in ("", *WAYS):
        again = ctxtui("cost", recording, copy, *(["--by", by] if by else []), "--json").json
        assert again["total_usd"] == pytest.approx(once["total_usd"]) == pytest.approx(twice["total_usd"])
        assert not by or sum(row["usd"] or 0 for row in again["rows"]) == pytest.approx(again["total_usd"])
    assert ctxtui("cost", "--why", recording.parent, "--json").json["total_usd"] == pytest.approx(once["total_usd"])


def test_the_user_s_own_price_comes_before_the_list(
    ctxtui: Run, recording: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text('[prices."claude-opus-4-20250514"]\ninput = 1000.0\noutput = 0.0\n')
    monkeypatch.setenv("CTXTUI_CONFIG", str(mine))
    own = ctxtui("cost", recording, "--json").json
    assert own["total_usd"] > 1 and own["price_versions"][0].startswith("override")


def planted(home: Path, name: str, started: float, messages: int = 6) -> Path:
    """A session of this directory whose last record is from `started`."""
    folder = home / ".claude/projects" / "".join(c if c.isalnum() else "-" for c in str(Path.cwd()))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.jsonl"
    path.write_bytes(claude_code(messages))
    os.utime(path, (started, started))
    return path


def test_all_sessions_by_every_way_and_remembered(ctxtui: Run, home: Path) -> None:
    assert "No call was found" in ctxtui("cost", "--all").out
    planted(home, "11111111-1111-4111-8111-111111111111", time.time())
    first = ctxtui("cost", "--all", "--json")
    assert first.code == 0 and first.json["total_usd"] > 0
    for by in WAYS:
        found = ctxtui("cost", "--all", "--by", by, "--json").json
        assert sum(row["usd"] or 0 for row in found["rows"]) == pytest.approx(first.json["total_usd"])
        assert found["rows"] and all(row["name"] for row in found["rows"])
    (day,) = ctxtui("cost", "--all", "--by", "day", "--json").json["rows"]
    assert datetime.fromisoformat(day["name"])


def test_why_explains_the_last_session_and_yesterday_s(ctxtui: Run, home: Path) -> None:
    assert ctxtui("cost", "--why").code == 5
    planted(home, "22222222-2222-4222-8222-222222222222", time.time())
    for name in ([], ["last"], ["22222222"]):
        found = ctxtui("cost", "--why", *name, "--json").json
        assert [part["name"] for part in found["parts"]] == PARTS
        assert sum(part["usd"] for part in found["parts"]) == pytest.approx(found["total_usd"])
        assert sum(tool["usd"] for tool in found["tools"]) == pytest.approx(found["total_usd"])
    missing = ctxtui("cost", "--why", "yesterday", "--json")
    assert missing.code == 5 and missing.json["error"]["message"] == "no recorded call yesterday"


def test_why_yesterday_takes_that_day_s_calls_alone(ctxtui: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = planted(home, "33333333-3333-4333-8333-333333333333", time.time())
    whole = ctxtui("cost", "--why", path, "--json").json
    times = [json.loads(line).get("timestamp") for line in path.read_text().splitlines()]
    started = max(datetime.fromisoformat(t.replace("Z", "+00:00")).timestamp() for t in times if t)
    monkeypatch.setattr(time, "time", lambda: started + 86_400)
    os.utime(path, (started + 86_400, started + 86_400))
    found = ctxtui("cost", "--why", "yesterday", "--json").json
    assert found["total_usd"] == pytest.approx(whole["total_usd"]) and found["calls"] == whole["calls"]
    stored = home.parent / "ctxtui"
    stored.mkdir(exist_ok=True)
    for old in stored.glob("ctxtui.db*"):
        old.unlink()
    (stored / "ctxtui.db").write_bytes(b"no database" * 999)
    without = ctxtui("cost", "--why", "yesterday", "--json")
    assert without.json["calls"] == whole["calls"] and "the database was skipped" in without.err


def test_the_sentence_adds_up_as_it_stands(ctxtui: Run, recording: Path) -> None:
    words = ctxtui("cost", "--why", recording, "--json").json["sentence"]
    total, _, rest = words.partition("; ")[0].partition(" = ")
    amounts = [float(part.split()[0]) for part in rest.split(" + ")]
    assert float(total.lstrip("$")) == pytest.approx(sum(amounts))


@pytest.mark.parametrize("arguments", [["cost"], ["cost", "--all", "x"], ["cost", "x", "--by", "moon"], ["check", "x"]])
def test_wrong_use_says_so(ctxtui: Run, arguments: list[str]) -> None:
    assert ctxtui(*arguments).code == 2


def test_unknown_prices_are_unknown(ctxtui: Run, tmp_path: Path) -> None:
    path = tmp_path / "local.jsonl"
    path.write_bytes(claude_code(4).replace(b"claude-opus-4-20250514", b"my-own-llama-at-home"))
    found = ctxtui("cost", path, "--json").json
    assert found["total_usd"] is None and found["unpriced_calls"] == found["calls"] > 0
    assert "unknown" in ctxtui("cost", path).out
    why = ctxtui("cost", "--why", path)
    assert why.code == 0 and "cost unknown: no price for my-own-llama-at-home" in why.out and "$0" not in why.out


def test_check_passes_fails_and_reports(ctxtui: Run, recording: Path, tmp_path: Path) -> None:
    good = ctxtui("check", recording, "--max-context", "1M", "--max-cost", "100", "--max-rewrites", "50", "--json")
    assert good.code == 0 and good.json["passed"] and len(good.json["files"][0]["checks"]) == 3
    report = tmp_path / "report.xml"
    bad = ctxtui("check", recording, "--max-context", "0.001k", "--max-block-chars", "1_000_000", "--junit", report)
    assert bad.code == 8 and "FAILED" in bad.out and "read / (read + fresh)" in bad.out
    suite = ElementTree.parse(report).getroot().find("testsuite")
    assert suite is not None and (suite.get("tests"), suite.get("failures")) == ("2", "1")
    assert [case.get("name") for case in suite if case.find("failure") is not None] == ["max_context"]


def test_check_against_a_baseline(ctxtui: Run, recording: Path, tmp_path: Path) -> None:
    base = tmp_path / "base.json"
    base.write_text(ctxtui("check", recording, "--json").out)
    assert ctxtui("check", recording, "--baseline", base).code == 0
    longer = tmp_path / "other" / "run.jsonl"
    longer.parent.mkdir()
    longer.write_bytes(claude_code(40))
    assert ctxtui("check", longer, "--baseline", base, "--tolerance", "0%").code == 8
    base.write_text("[]")
    assert ctxtui("check", recording, "--baseline", base).code == 4
    base.write_text("[" * 100_000)
    ran = ctxtui("check", recording, "--baseline", base)
    assert ran.code == 4 and f"@ {base}" in ran.err
    assert ctxtui("check", recording, "--baseline", tmp_path / "none.json").code == 5
    assert ctxtui("check", recording, "--max-context", "many").code == 2
    assert ctxtui("check", recording, "--min-cache-read", "130%").code == 2
    assert ctxtui("check", recording, "--max-cost", "9", "--junit", tmp_path / "no" / "x.xml").code == 7


@pytest.mark.parametrize("path", every_recording())
def test_on_every_recording_of_the_corpus_the_parts_add_up_to_the_cost(ctxtui: Run, path: Path) -> None:
    cost = ctxtui("cost", path, "--json")
    if cost.code:
        return
    why = ctxtui("cost", "--why", path, "--json").json
    assert sum(part["usd"] for part in why["parts"]) == pytest.approx(cost.json["total_usd"] or 0.0, abs=1e-6), path
    assert why["total_usd"] == (None if cost.json["total_usd"] is None else pytest.approx(cost.json["total_usd"]))


def test_no_block_was_sent_in_more_calls_than_there_are(ctxtui: Run) -> None:
    # Its memory stands several times in each of its contexts.
    sample = next((Path(__file__).parents[3] / "sessions").glob("2-*.jsonl"))
    said = ctxtui("cost", "--why", str(sample)).out
    calls = int(re.findall(r"([0-9,]+) calls", said)[0])
    heaviest = ctxtui("cost", "--why", str(sample), "--json").json["heaviest"][0]["calls"]
    assert heaviest > calls and f"sent {heaviest} times" in " ".join(said.split()) and f"{heaviest} calls" not in said
