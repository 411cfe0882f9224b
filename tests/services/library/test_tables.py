"""Tables of sessions, calls and tools: every figure as the library has it; sums count each call once."""

from __future__ import annotations

import re
import stat
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ctxtui.core.errors import CtxtuiError
from ctxtui.services.library import tables as written
from ctxtui.services.library.tables import TABLES, ParquetFolder, Row, table_rows
from ctxtui.services.library.totals.stats import make_stats
from ctxtui.views.model.session_summary import SessionSummary
from tests.services.library.test_stats import DAY, NEW, OLD, REPORT, reporting
from tests.services.library.test_tool_ledger import session

KNOWN = [*OLD, *NEW, replace(OLD[0], key="a copy"), session("tools", "yz"), reporting("q", REPORT, at=1.0 * DAY)]


def tables_of(sessions: list[SessionSummary], since: float = 0.0) -> dict[str, list[Row]]:
    each = list(table_rows(sessions, since))
    return {name: [row for one in each for row in one[name]] for name in TABLES}


def test_every_row_has_every_column() -> None:
    found = tables_of(KNOWN)
    for name, rows in found.items():
        assert rows and all(list(row) == list(TABLES[name]) for row in rows), name


def test_sums_over_first_seen_are_those_of_stats() -> None:
    calls, total = tables_of(KNOWN)["calls"], make_stats(KNOWN, 0.0).total
    first = [row for row in calls if row["first_seen"]]
    assert len(calls) > len(first) == total.calls
    assert sum(row["input"] for row in first) == total.input
    assert sum(row["usd"] for row in first) == pytest.approx(total.usd)


def test_only_calls_since_a_time_are_rows_and_their_sessions() -> None:
    found = tables_of(KNOWN, since=5.0 * DAY)
    assert {row["session"] for row in found["sessions"]} == {one.key for one in NEW}
    assert len(found["calls"]) == make_stats(KNOWN, 0.0, since=5.0 * DAY).total.calls == 10
    assert all(row["session"].startswith("n") for row in [*found["calls"], *found["tools"]])


@pytest.fixture
def parquet() -> Any:
    """The engine that writes and reads them, where it is installed."""
    pytest.importorskip("pyarrow", reason="the extra parquet is not installed")
    from pyarrow import parquet

    return parquet


def into(folder: Path, *, again: bool = False) -> dict[str, Path]:
    with ParquetFolder(folder, replace=again) as out:
        for rows in table_rows(KNOWN):
            out.add(rows)
    return out.files


@pytest.mark.parametrize("piece", [1, 20_000])
def test_files_are_read_by_another_program_and_not_replaced_unasked(
    tmp_path: Path, parquet: Any, monkeypatch: pytest.MonkeyPatch, piece: int
) -> None:
    monkeypatch.setattr(written, "BATCH_ROWS", piece)
    made, files = tables_of(KNOWN), into(tmp_path / "out")
    for name, file in files.items():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert parquet.read_table(file).to_pylist() == made[name]
        assert [field.name for field in parquet.read_schema(file)] == list(TABLES[name])
    with pytest.raises(CtxtuiError, match="there is a file already"):
        into(tmp_path / "out")
    with ParquetFolder(tmp_path / "out", replace=True):
        pass
    assert parquet.read_table(files["calls"]).num_rows == 0
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == sorted(f"{name}.parquet" for name in made)


def test_what_breaks_off_leaves_what_was_there(tmp_path: Path, parquet: Any) -> None:
    files = into(tmp_path)
    before = {file: file.read_bytes() for file in files.values()}
    with pytest.raises(KeyboardInterrupt), ParquetFolder(tmp_path, replace=True) as out:
        out.add(next(table_rows(KNOWN)))
        raise KeyboardInterrupt
    assert {file: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path, parquet: Any) -> None:
    (tmp_path / "file").write_text("x")
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(CtxtuiError, match="it cannot be written"):
            ParquetFolder(place, replace=False)


def test_the_documented_columns_are_those_that_there_are() -> None:
    text = (Path(__file__).parents[3] / "docs" / "json.md").read_text()
    section = text.split("## `ctxtui export NAME --to parquet")[1].split("\n## ")[0]
    for name, columns in TABLES.items():
        row = next(line for line in section.splitlines() if line.startswith(f"| *{name}*"))
        assert re.findall(r"`(\w+)`", row) == list(columns), name
