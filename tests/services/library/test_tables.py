"""Tables of sessions, calls and tools: every figure as the library has it; sums count each call once."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from ctxtui.core.errors import CtxtuiError
from ctxtui.services.library.tables import TABLES, tables_of, write_parquet
from ctxtui.services.library.totals.stats import stats_of
from tests.services.library.test_stats import NEW, OLD
from tests.services.library.test_tool_ledger import session

KNOWN = [*OLD, *NEW, OLD[0], session("tools", "yz")]


def test_every_row_has_every_column() -> None:
    found = tables_of(KNOWN)
    for name, rows in found.items():
        assert rows and all(list(row) == list(TABLES[name]) for row in rows), name


def test_sums_over_first_seen_are_those_of_stats() -> None:
    calls, total = tables_of(KNOWN)["calls"], stats_of(KNOWN, 0.0).total
    first = [row for row in calls if row["first_seen"]]
    assert len(calls) > len(first) == total.calls
    assert sum(row["input"] for row in first) == total.input
    assert sum(row["usd"] for row in first) == pytest.approx(total.usd)


def test_files_are_read_by_another_program_and_not_replaced_unasked(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="the extra parquet is not installed")
    from pyarrow import parquet

    made = tables_of(KNOWN)
    files = write_parquet(made, tmp_path / "out", replace=False)
    for name, file in files.items():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert parquet.read_table(file).to_pylist() == made[name]
    with pytest.raises(CtxtuiError, match="there is a file already"):
        write_parquet(made, tmp_path / "out", replace=False)
    write_parquet({name: [] for name in made}, tmp_path / "out", replace=True)
    assert parquet.read_table(files["calls"]).num_rows == 0
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == sorted(f"{name}.parquet" for name in made)
