"""Work over many sessions, done by the processes of a dask cluster, comes to the same as it does here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ctxtui.services import cluster
from tests.cases.claude_code_requests import parallel
from tests.cli.conftest import Run, ctxtui, home

__all__ = ["ctxtui", "home"]


@pytest.fixture
def dask() -> Any:
    """dask's engine, where it is installed."""
    return pytest.importorskip("distributed", reason="the extra cluster is not installed")


def sessions(count: int) -> None:
    Path("logs").mkdir()
    for n in range(count):
        # Each with calls of its own: copies would count once.
        data = parallel().dump().replace(b'"id":"m', f'"id":"m{n}x'.encode())
        Path(f"logs/{n}.jsonl").write_bytes(data)


@pytest.mark.slow
def test_stats_check_and_tables_are_the_same_from_a_cluster(
    ctxtui: Run, dask: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    sessions(5)
    Path("logs/broken.jsonl").write_bytes(parallel().dump()[:3000] + b"\x00\xff")
    with dask.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
    ) as running:
        address = running.scheduler_address
        # What was read for one is not remembered for the other.
        monkeypatch.setenv("CTXTUI_HOME", str(tmp_path / "far"))
        far = ctxtui("stats", "logs", "--by", "model", "--json", "--cluster", address)
        checked = ctxtui("check", "logs", "--max-context", "100k", "--json", "--cluster", address)
        assert ctxtui("stats", "logs", "--json", "--cluster", "local").code == 0
    monkeypatch.setenv("CTXTUI_HOME", str(tmp_path / "here"))
    here = ctxtui("stats", "logs", "--by", "model", "--json")
    assert here.code == far.code == 0 and here.json["total"]["sessions"] >= 5
    for one in (here, far):
        assert one.json["rows"]
    assert far.json["total"] == here.json["total"] and far.json["rows"] == here.json["rows"]
    assert checked.json == ctxtui("check", "logs", "--max-context", "100k", "--json").json


@pytest.mark.slow
def test_duckdb_reads_calls_and_results(ctxtui: Run) -> None:
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    pytest.importorskip("pyarrow", reason="the extra parquet is not installed")
    sessions(3)
    assert ctxtui("export", "logs", "--to", "parquet", "-o", "tables").code == 0
    total = ctxtui("stats", "logs", "--json").json["total"]
    db = duckdb.connect()
    # The two queries of docs/money.md, as they stand there.
    text = (Path(__file__).parents[2] / "docs" / "money.md").read_text()
    queries = [part.split('"')[0] for part in text.split('duckdb -c "')[1:]]
    assert len(queries) == 2
    by_model, worst = (db.execute(query).fetchall() for query in queries)
    assert sum(usd for _, usd in by_model) == pytest.approx(total["usd"] or total["usd_at_least"])
    assert len(worst) <= 3
    assert db.execute("select count(*) from 'tables/tools.parquet'").fetchone()[0] > 0


@pytest.mark.slow
def test_a_cluster_that_is_not_there(ctxtui: Run, dask: Any) -> None:
    sessions(1)
    ran = ctxtui("stats", "logs", "--cluster", "tcp://127.0.0.1:1")
    assert ran.code == 7 and "Traceback" not in ran.err and "--cluster tcp://127.0.0.1:1" in ran.err


def test_without_dask_it_is_said_how_to_get_it(ctxtui: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(name: str) -> Any:
        raise ImportError(name)

    sessions(1)
    monkeypatch.setattr(cluster, "import_module", nothing)
    ran = ctxtui("stats", "logs", "--cluster", "local", "--json")
    assert ran.code == 5 and "pip install 'ctxtui[cluster]'" in json.loads(ran.out)["error"]["way_out"]
