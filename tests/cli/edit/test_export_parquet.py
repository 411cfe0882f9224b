"""`ctxtui export --to parquet`: all recordings of a folder as tables, or what is missing for it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.cases.claude_code import generate
from tests.cases.claude_code_requests import parallel
from tests.cli.conftest import Run


def test_a_folder_is_written_as_tables(ctxtui: Run) -> None:
    pytest.importorskip("pyarrow", reason="the extra parquet is not installed")
    Path("logs").mkdir()
    Path("logs/one.jsonl").write_bytes(parallel().dump())
    Path("logs/copy.jsonl").write_bytes(parallel().dump())
    ran = ctxtui("export", "logs", "--to", "parquet", "-o", "out", "--json")
    calls = ctxtui("stats", "logs", "--json").json["total"]["calls"]
    assert ran.code == 0 and ran.json["rows"]["sessions"] == 2 and ran.json["rows"]["calls"] == 2 * calls
    assert all(Path(file).exists() for file in ran.json["files"].values())
    assert "there is a file already" in ctxtui("export", "logs", "--to", "parquet", "-o", "out").err
    assert ctxtui("export", "logs/one.jsonl", "--to", "parquet", "-o", "out", "--force").code == 0


def test_sums_over_the_tables_are_those_of_stats(ctxtui: Run) -> None:
    pytest.importorskip("pyarrow", reason="the extra parquet is not installed")
    from pyarrow import parquet

    Path("logs").mkdir()
    for number in range(4):
        file = Path(f"logs/{number}.jsonl")
        file.write_bytes(generate(n_messages=24, seed=number // 2))
        os.utime(file, (2e9 - number, 2e9 - number))  # the later copy is the older one
    Path("logs/other.jsonl").write_bytes(parallel().dump())
    for again in range(2):
        assert ctxtui("export", "logs", "--to", "parquet", "-o", f"out{again}").code == 0
        rows = [row for row in parquet.read_table(f"out{again}/calls.parquet").to_pylist() if row["first_seen"]]
        source = {
            row["session"]: row["source"] for row in parquet.read_table(f"out{again}/sessions.parquet").to_pylist()
        }
        for way in ("model", "source"):
            found: dict[str, list[float]] = {}
            for row in rows:
                sums = found.setdefault(row["model"] if way == "model" else source[row["session"]], [0.0] * 6)
                told = (1, *(row[field] or 0 for field in ("input", "cache_read", "output", "usd", "miss")))
                sums[:] = [one + more for one, more in zip(sums, told, strict=True)]
            expected = {}
            for row in ctxtui("stats", "logs", "--by", way, "--json").json["rows"]:
                figures = [row[field] for field in ("calls", "input", "read", "output")]
                expected[row["name"]] = [*figures, row["usd"] or row.get("usd_at_least"), row["misses"]]
            assert {name: pytest.approx(sums) for name, sums in found.items()} == expected
    assert Path("out0/calls.parquet").read_bytes() == Path("out1/calls.parquet").read_bytes()


def test_what_is_asked_for_in_vain_is_told_before_anything_is_read(
    ctxtui: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*given: object, **more: object) -> object:
        raise AssertionError("it is read for nothing")

    monkeypatch.setattr("ctxtui.cli.edit.export.known_sessions", never)
    Path("one.jsonl").write_bytes(parallel().dump())
    Path("out").write_text("a file")
    ran = ctxtui("export", "one.jsonl", "--to", "parquet", "-o", "out")
    assert ran.code in (5, 7) and "Traceback" not in ran.err
    for given in (["--since", "7d"], ["--cluster", "local"]):
        assert "need --to parquet" in ctxtui("export", "one.jsonl", *given).err


def test_without_pyarrow_it_is_said_how_to_get_it(ctxtui: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    Path("one.jsonl").write_bytes(parallel().dump())
    ran = ctxtui("export", "one.jsonl", "--to", "parquet", "-o", "out")
    assert ran.code and "pip install 'ctxtui-debugger[parquet]'" in ran.err and not Path("out").exists()


def test_what_cannot_be_asked_is_told(ctxtui: Run) -> None:
    assert ctxtui("export", "x", "--to", "parquet").code == 2
    assert "no such file or folder" in ctxtui("export", "nowhere", "--to", "parquet", "-o", "out").err
