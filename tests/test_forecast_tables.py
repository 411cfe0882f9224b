"""The documents show the figures of forecasts that are on record, and these leave each recording's own project out."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from msgspec.structs import replace

from benchmarks import audit
from benchmarks.forecast_tables import PLACES, ROOT, on_record, shown
from benchmarks.left_out import MEASURED, Known, rules_without
from benchmarks.naive import naive
from benchmarks.recorded import CLIENTS, MUTED, Recording, recordings
from ctxtui.core.call import Call
from ctxtui.core.usage import Usage
from ctxtui.services.config.package_data import model_table
from tests.cases import claude_code


@pytest.mark.parametrize(("path", "name", "table"), PLACES, ids=lambda one: getattr(one, "name", ""))
def test_a_document_shows_the_figures_on_record(path: Path, name: str, table: object) -> None:
    assert callable(table)
    assert shown(path.read_text(encoding="utf-8"), name) == table(on_record())


def test_figures_of_forecasts_stand_nowhere_else() -> None:
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        text = path.read_text(encoding="utf-8")
        for place, name, _ in PLACES:
            if place == path:
                text = text.replace(text[text.index(f"<!-- {name} -->") : text.index(f"<!-- /{name} -->")], "")
        assert "| hit or miss right |" not in text and "left one out |" not in text, path.name


def test_the_record_names_every_client_with_its_projects() -> None:
    clients = on_record()["clients"]
    assert [one["client"] for one in clients] == list(CLIENTS.values())
    without = on_record()["without_writes"]
    assert [one["client"] for one in without] == [CLIENTS[client] for client in MUTED]
    for one in [*clients, *without]:
        assert one["calls"] == sum(project["calls"] for project in one["projects"])
        assert sum(one["cache"]["not_foreseen"].values()) == one["cache"]["misses"] - one["cache"]["foreseen"]


def test_the_naive_rule() -> None:
    before = Call("a", "main", model="m", started=0.0, usage=Usage(fresh=10, cache_read=900, write_5m=90, output=50))
    call = Call("b", "main", model="m", started=200.0)
    assert naive(call, before, 400) == (1000 + 50 + 100, 990)
    assert naive(replace(call, started=301.0), before, 0)[1] == 0
    assert naive(replace(call, model="n"), before, 0)[1] == 0
    hour = replace(before, usage=Usage(cache_read=900, write_1h=90))
    assert naive(replace(call, started=301.0), hour, 0)[1] == 990
    # Where nothing is written by itself, all of the input is in the cache.
    assert naive(call, replace(before, usage=Usage(fresh=300, cache_read=700)), 0)[1] == 1000


def test_a_measured_rule_gives_way_where_its_recordings_are_left_out() -> None:
    card = model_table().card("gpt-5.5")
    shipped, without = rules_without("").for_model(card), rules_without("EntityProcess/agentv").for_model(card)
    assert (shipped.step, shipped.retention) == (512, 28_800.0)
    assert (without.step, without.retention) == (128, 86_400.0)
    held = {source for _, source in without.sources}
    assert not any("recorded calls" in source for source in held)
    assert set(MEASURED.values()) == {"EntityProcess/agentv", "SWE-agent/mini-swe-agent"}


def test_each_call_counts_once_and_its_own_project_teaches_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "claude_code"
    folder.mkdir()
    (folder / "a.jsonl").write_bytes(claude_code.generate(30, seed=1))
    (folder / "b.jsonl").write_bytes(claude_code.generate(30, seed=1))
    (folder / "c.jsonl").write_bytes(claude_code.generate(30, seed=2))
    with (tmp_path / "INDEX.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["file", "source_repo"])
        rows.writerows([f"claude_code/{name}.jsonl", project] for name, project in (("a", "p"), ("b", "p"), ("c", "q")))
    taught: list[tuple[str, set[str]]] = []
    real = audit.foretold

    def listening(held: Recording, others: list[Known]) -> object:
        taught.append((held.project, {one.recording.project for one in others}))
        return real(held, others)

    monkeypatch.setattr(audit, "foretold", listening)
    found = audit.measured(tmp_path)["clients"][0]
    # Once with, once without the writes.
    assert taught == [("p", {"q"}), ("p", {"q"}), ("q", {"p"})] * 2
    first = next(one for one in recordings(tmp_path) if one.name == "a.jsonl")
    again = next(one for one in recordings(tmp_path) if one.name == "b.jsonl")
    assert first.own and not again.own
    calls = {one["project"]: one["calls"] for one in found["projects"]}
    assert calls["p"] == len(first.own) - 1 and found["cache"]["calls"] == found["calls"]
