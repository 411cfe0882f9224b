"""Work over many sessions, done by the processes of a dask cluster, comes to the same as it does here."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ctxtui.cli.session_work import ClusterAddress
from ctxtui.services import cluster, process_pool
from tests.cases.claude_code_requests import parallel
from tests.cli.conftest import Run, ctxtui, home

pytestmark = pytest.mark.slow

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


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a cluster of two processes, which have a home of their own."""
    dask = pytest.importorskip("distributed", reason="the extra cluster is not installed")
    place = str(tmp_path_factory.mktemp("far"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", place)
        patch.setenv("CTXTUI_HOME", place)
        with dask.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
        ) as running:
            yield running.scheduler_address


@pytest.mark.slow
def test_standard_input_is_not_for_a_cluster(ctxtui: Run, scheduler: str) -> None:
    sessions(1)
    ran = ctxtui("check", "-", "--max-context", "1", "--cluster", scheduler)
    assert ran.code and "a cluster cannot read standard input" in ran.err


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


@pytest.mark.slow
def test_workers_elsewhere_find_what_is_named_from_here(ctxtui: Run, scheduler: str) -> None:
    sessions(3)
    far = ctxtui("stats", "logs", "--json", "--cluster", scheduler)
    assert far.code == 0 and not far.json["failed"] and far.json["total"]["sessions"] == 3
    assert ctxtui("check", "logs", "--max-context", "1", "--cluster", scheduler).code == 8


@pytest.mark.slow
def test_workers_elsewhere_find_what_goes_into_tables(ctxtui: Run, scheduler: str) -> None:
    pytest.importorskip("pyarrow", reason="the extra parquet is not installed")
    sessions(3)
    assert ctxtui("export", "logs", "--to", "parquet", "-o", "out", "--cluster", scheduler).code == 0


@pytest.mark.slow
def test_another_version_of_this_program_is_not_added_up(
    ctxtui: Run, scheduler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions(2)
    monkeypatch.setattr(process_pool, "__version__", "0.0.9")
    ran = ctxtui("stats", "logs", "--cluster", scheduler)
    assert ran.code == 7 and "here it is 0.0.9" in ran.err and "install the same version" in ran.err


@pytest.mark.slow
def test_a_scheduler_for_which_nobody_works(ctxtui: Run, dask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    sessions(1)
    monkeypatch.setattr(cluster, "WORKER_TIMEOUT", "100 ms")
    with dask.LocalCluster(n_workers=0, processes=True, dashboard_address="127.0.0.1:0") as running:
        ran = ctxtui("stats", "logs", "--cluster", running.scheduler_address)
    assert ran.code == 7 and "0/1 workers" in ran.err and "Traceback" not in ran.err


@pytest.mark.parametrize(
    "address", ["foo", "http://x", "http://x:80", "tcp://127.0.0.1", "tcp://:8786", "tcp://h:eight", "tcp://h:99999"]
)
@pytest.mark.parametrize("there_is", ["something to read", "nothing to read"])
def test_what_is_no_address_is_told_whatever_there_is_to_read(ctxtui: Run, address: str, there_is: str) -> None:
    sessions(there_is == "something to read")
    ran = ctxtui("stats", "logs", "--cluster", address, "--json")
    assert ran.code == 2 and ran.json["error"]["way_out"] == "tcp://HOST:8786, or local"


def test_an_address_is_looked_at_and_nobody_is_called_where_all_is_remembered(ctxtui: Run) -> None:
    sessions(1)
    first = ctxtui("stats", "logs", "--json")
    assert first.code == 0
    again = ctxtui("stats", "logs", "--json", "--cluster", "tcp://127.0.0.1:1")
    assert (again.code, again.err) == (0, ""), "nothing is left to be read"
    assert again.json["total"] == first.json["total"]
    assert ctxtui("stats", "logs", "--json", "--cluster", "NONSENSE").code == 2


@pytest.mark.parametrize("command", ["check logs --max-context 1k", "export all --to parquet -o tables"])
def test_every_command_says_so(ctxtui: Run, command: str) -> None:
    sessions(0)
    ran = ctxtui(*command.split(), "--cluster", "NONSENSE")
    assert ran.code == 2 and "is not a scheduler's address" in ran.err


@pytest.mark.parametrize("address", ["local", "tcp://host:8786", "host:8786", "tls://[::1]:8786"])
def test_what_is_an_address(address: str) -> None:
    assert ClusterAddress().convert(address, None, None) == address


def test_without_dask_it_is_said_how_to_get_it(ctxtui: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    sessions(1)
    monkeypatch.setitem(sys.modules, "distributed", None)
    ran = ctxtui("stats", "logs", "--cluster", "local", "--json")
    assert ran.code == 5 and "pip install 'ctxtui-debugger[cluster]'" in json.loads(ran.out)["error"]["way_out"]
