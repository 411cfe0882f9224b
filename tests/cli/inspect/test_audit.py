from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.corpus import corpus_params, need_corpus
from tests.services.lookalike import claude_code

AGGREGATES = [
    "median_abs_error_pct",
    "p95_abs_error_pct",
    "new_median_abs_error_pct",
    "new_p90_abs_error_pct",
    "interval_coverage_pct",
    "median_interval_width_pct",
]
ROW = ["file", "thread", "call", "predicted", "lo", "hi", "reported", "new_predicted", "new_reported", "cause"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "recordings"
    made.mkdir()
    for n in (3, 5):
        (made / f"{n}.jsonl").write_bytes(claude_code(n))
    return made


def test_the_shape_is_the_promised_one(ctxtui: Run, folder: Path) -> None:
    paths = [folder / "3.jsonl", folder / "5.jsonl"]
    found = ctxtui("audit", *paths, "--json").json
    cache = ["cache_read", "cache_band", "cache_misses", "cache_per_call"]
    assert list(found) == ["schema_version", "calls", "input_tokens", "per_file", "per_call", *cache]
    assert list(found["input_tokens"]) == AGGREGATES
    assert [one["file"] for one in found["per_file"]] == [str(p) for p in paths]
    assert all(list(one) == ["file", "calls", "input_tokens"] for one in found["per_file"])
    assert all(list(row) == ROW for row in found["per_call"])
    assert found["calls"] == len(found["per_call"]) == sum(one["calls"] for one in found["per_file"]) > 0


def test_cache_reads_have_the_promised_shape(ctxtui: Run, folder: Path) -> None:
    found = ctxtui("audit", folder, "--json").json
    got = found["cache_read"]["anthropic"]
    assert list(got) == ["calls", "within_pct", "hit_miss_accuracy_pct", "misses"]
    assert list(got["misses"]) == ["reported", "foreseen", "false_alarms", "not_in_record"]
    rows = found["cache_per_call"]
    assert got["calls"] == len(rows) > 0
    within = sum(abs(r["predicted"] - r["reported"]) <= max(300, 0.02 * r["input"]) for r in rows)
    assert got["within_pct"] == pytest.approx(100 * within / len(rows), abs=0.001)
    assert got["misses"]["reported"] == sum(r["reported"] * 2 <= r["previous"] for r in rows)


def test_a_folder_stands_for_its_recordings(ctxtui: Run, folder: Path) -> None:
    (folder / "notes.jsonl").write_text('{"type":"summary","summary":"x","leafUuid":"y"}\n')
    ran = ctxtui("audit", folder, "--json")
    assert ran.code == 0
    assert [Path(one["file"]).name for one in ran.json["per_file"]] == ["3.jsonl", "5.jsonl"]


def test_text_has_a_line_per_file_and_one_over_all(ctxtui: Run, folder: Path) -> None:
    lines = ctxtui("audit", folder).out.splitlines()
    assert lines[1].split()[:3] == ["calls", "median", "%"] and lines[4].startswith("all ")
    assert lines[6].startswith("cache reads, anthropic: ")


def test_what_cannot_be_audited_ends_with_its_own_code(ctxtui: Run, folder: Path, tmp_path: Path) -> None:
    missing = tmp_path / "nowhere.jsonl"
    assert ctxtui("audit", missing, "--json").code == 5
    ran = ctxtui("audit", folder / "3.jsonl", missing, "--json")
    assert (ran.code, ran.json["failed"][0]["file"], len(ran.json["per_file"])) == (5, str(missing), 1)
    empty = tmp_path / "empty.jsonl"
    empty.write_bytes(b"")
    assert ctxtui("audit", empty).code == 3


@pytest.mark.parametrize("name", ["chars/4", "words*1.3"])
def test_others_figures_can_be_reproduced(ctxtui: Run, folder: Path, name: str) -> None:
    learnt = ctxtui("audit", folder, "--json").json["per_call"]
    plain = ctxtui("audit", folder, "--estimator", name, "--json").json["per_call"]
    assert [r["reported"] for r in plain] == [r["reported"] for r in learnt]
    assert [r["predicted"] for r in plain] != [r["predicted"] for r in learnt]
    shown = ctxtui("show", folder / "3.jsonl", "--estimator", name, "--json").json
    assert {b["method"] for b in shown["blocks"]} <= {"guessed", "inferred", "not read"}


def test_the_corpus_is_foretold_as_well_as_promised(ctxtui: Run) -> None:
    paths = need_corpus("claude_code", "*.jsonl")
    got = ctxtui("audit", *paths, "--json").json
    found = got["input_tokens"]
    assert found["median_abs_error_pct"] <= 0.04 and found["p95_abs_error_pct"] <= 0.8
    assert found["new_median_abs_error_pct"] <= 5 and found["new_p90_abs_error_pct"] <= 25
    assert 87 <= found["interval_coverage_pct"] <= 93 and found["median_interval_width_pct"] <= 30
    for row in got["per_call"]:
        off = abs(row["new_predicted"] - row["new_reported"]) > 0.22 * max(abs(row["new_reported"]), 100)
        assert bool(row["cause"]) is off

    reads = got["cache_read"]["anthropic"]
    misses = reads["misses"]
    assert reads["within_pct"] >= 98.3 and reads["hit_miss_accuracy_pct"] >= 99.3
    assert misses["foreseen"] >= 0.8 * misses["reported"] and not misses["false_alarms"]
    assert misses["foreseen"] >= 0.95 * (misses["reported"] - misses["not_in_record"])
    assert all(miss["evidence"] for miss in got["cache_misses"])


def test_automatic_prefixes_are_foretold_as_well_as_promised(ctxtui: Run) -> None:
    got = ctxtui("audit", *need_corpus("codex", "*.jsonl"), *need_corpus("mini_swe_agent", "*.json"), "--json").json
    openai, deepseek = (got["cache_read"][name] for name in ("openai", "deepseek"))
    assert openai["within_pct"] >= 87 and deepseek["within_pct"] >= 87
    assert openai["hit_miss_accuracy_pct"] >= 97.5 and deepseek["hit_miss_accuracy_pct"] >= 99.5
    assert all(band["holds_pct"] >= 95 for band in got["cache_band"].values())


@pytest.mark.parametrize("path", corpus_params("codex", "*.jsonl"))
def test_final_counts_are_foretold_closely(ctxtui: Run, path: Path) -> None:
    found = ctxtui("audit", path, "--json").json["input_tokens"]
    assert found["new_median_abs_error_pct"] <= 1
    assert found["median_interval_width_pct"] <= 6
