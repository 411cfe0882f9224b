"""`ctxtui export --to parquet`: all recordings of a folder as tables, or what is missing for it."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

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


@pytest.mark.skipif(importlib.util.find_spec("pyarrow") is not None, reason="the extra parquet is installed")
def test_without_pyarrow_it_is_said_how_to_get_it(ctxtui: Run) -> None:
    Path("one.jsonl").write_bytes(parallel().dump())
    ran = ctxtui("export", "one.jsonl", "--to", "parquet", "-o", "out")
    assert ran.code and "pip install 'ctxtui[parquet]'" in ran.err and not Path("out").exists()


def test_what_cannot_be_asked_is_told(ctxtui: Run) -> None:
    assert ctxtui("export", "x", "--to", "parquet").code == 2
    assert "no such file or folder" in ctxtui("export", "nowhere", "--to", "parquet", "-o", "out").err
