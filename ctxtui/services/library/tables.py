"""Sessions, calls, tools and quotas as tables for data tools, and as Parquet files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from ctxtui.analysis.money.tool_costs import ToolCosts
from ctxtui.core.errors import CtxtuiError
from ctxtui.core.usage import QuotaReport
from ctxtui.services.config.extras import import_extra
from ctxtui.services.members import members
from ctxtui.views.model.call_owners import CallOwners
from ctxtui.views.model.session_summary import COMPACTED, MISSED, OVER, CallSpent, SessionSummary

Row = Mapping[str, Any]

_TEXT, _WHOLE, _REAL, _YES, TIME, TEXTS = "string", "int64", "float64", "bool_", "timestamp", "texts"
SESSIONS: Final = {
    "session": _TEXT, "path": _TEXT, "id": _TEXT, "source": _TEXT, "client_version": _TEXT, "project": _TEXT,
    "title": _TEXT, "changed": TIME, "model": _TEXT, "calls": _WHOLE, "turns": _WHOLE, "subagents": _WHOLE,
    "peak_tokens": _WHOLE, "window": _WHOLE, "usable": _WHOLE, "total_tokens": _WHOLE, "usd": _REAL,
    "usd_at_least": _REAL, "unpriced_calls": _WHOLE, "misses": _WHOLE, "compactions": _WHOLE,
    "compressors": TEXTS, "policies": TEXTS,
}  # fmt: skip
"""Each column of the table with the type of its values."""
CALLS: Final = {
    "session": _TEXT, "number": _WHOLE, "id": _TEXT, "thread": _TEXT, "started": TIME, "model": _TEXT,
    "input": _WHOLE, "cache_read": _WHOLE, "output": _WHOLE, "usd": _REAL, "miss": _YES, "lost_usd": _REAL,
    "cause": _TEXT, "compaction": _YES, "over_usable": _YES, "skill": _TEXT, "first_seen": _YES,
}  # fmt: skip
TOOLS: Final = {
    "session": _TEXT, "server": _TEXT, "name": _TEXT, "mcp": _YES, "state": _TEXT, "schema_tokens": _WHOLE,
    "carried_calls": _WHOLE, "called": _WHOLE, "result_tokens": _WHOLE, "schema_usd": _REAL, "use_usd": _REAL,
}  # fmt: skip
QUOTAS: Final = {
    "session": _TEXT, "quota": _TEXT, "window_minutes": _WHOLE, "used": _REAL, "resets": TIME, "reported": TIME,
    "raw": _TEXT,
}  # fmt: skip
TABLES: Final = {"sessions": SESSIONS, "calls": CALLS, "tools": TOOLS, "quotas": QUOTAS}


def table_rows(sessions: Sequence[SessionSummary], since: float = 0.0) -> Iterator[dict[str, list[Row]]]:
    """Yield the rows of each session with figures, by table; unreadable ones are skipped.

    - `since`: only calls from this Unix time on, and only sessions with such calls; a call without a time has that of
      its session.

    - A call in several recordings is a row of each. `first_seen` is true in the row of the session that owns it, so
      that sums count it once. It is false for copies made by ctxtui.
    """
    owners = CallOwners()
    for summary in sessions:
        owners.put(summary.key, summary.spent)
    for summary in sessions:
        owned_ids = set(map(id, owners.owned_calls(summary.key, summary.spent)))
        calls = [
            _call_row(summary, number, call, id(call) in owned_ids)
            for number, call in enumerate(summary.spent, 1)
            if (call.started or summary.mtime) >= since
        ]
        if not summary.error and (calls or not since):
            tools = [_tool_row(summary, tool) for tool in summary.tools]
            quotas = [_quota_row(summary, report) for report in summary.quotas]
            yield {"sessions": [_session_row(summary)], "calls": calls, "tools": tools, "quotas": quotas}


def _session_row(summary: SessionSummary) -> Row:
    return {
        "session": summary.key,
        **members(summary, "path? id source? client_version? project=cwd? title"),
        "changed": _as_datetime(summary.mtime),
        **members(summary, "model? calls turns subagents peak_tokens window? usable? total_tokens usd=cost_usd"),
        **members(summary, "usd_at_least=known_usd unpriced_calls=unpriced misses compactions"),
        "compressors": list(summary.compressors),
        "policies": list(summary.policies),
    }


def _call_row(summary: SessionSummary, number: int, call: CallSpent, is_first: bool) -> Row:
    # Sizes without any reported token are null, not zero.
    sizes = call.input, call.read, call.tokens - call.input
    return {
        "session": summary.key,
        "number": number,
        "id": call.id,
        "thread": call.thread or "main",
        "started": _as_datetime(call.started),
        "model": summary.models[call.model][0] if call.model >= 0 else None,
        **dict(zip(("input", "cache_read", "output"), sizes if call.tokens else (None,) * 3, strict=True)),
        "usd": call.cost,
        "miss": MISSED in call.marks,
        **members(call, "lost_usd=lost cause?"),
        "compaction": COMPACTED in call.marks,
        "over_usable": OVER in call.marks,
        "skill": call.skill or None,
        "first_seen": is_first,
    }


def _tool_row(summary: SessionSummary, tool: ToolCosts) -> Row:
    return {
        "session": summary.key,
        **members(tool, "server? name mcp state schema_tokens=tokens"),
        "carried_calls": sum(end - first for first, end in tool.carried),
        "called": len(tool.called),
        **members(tool, "result_tokens=results schema_usd use_usd"),
    }


def _quota_row(summary: SessionSummary, report: QuotaReport) -> Row:
    return {
        "session": summary.key,
        **members(report, "quota=limit window_minutes=minutes used"),
        "resets": _as_datetime(report.resets),
        "reported": _as_datetime(report.at),
        "raw": report.raw or None,
    }


def _as_datetime(seconds: float) -> datetime | None:
    return datetime.fromtimestamp(seconds, UTC) if seconds else None


BATCH_ROWS: Final = 20_000


class ParquetFolder:
    """Writes a file ``NAME.parquet`` for each table, readable by the user only.

    Use it as ``with ParquetFolder(folder, replace=False) as out: out.add(rows)``. The files appear once all are
    complete, and none if the block raises.

    The constructor raises `CtxtuiError` if pyarrow is not installed, a file exists and must not be replaced, or the
    folder cannot be written.
    """

    def __init__(self, folder: Path, *, replace: bool) -> None:
        self._arrow, self._parquet = _import_arrow()
        self.files = {name: folder / f"{name}.parquet" for name in TABLES}
        self.rows = dict.fromkeys(TABLES, 0)
        existing = [file for file in self.files.values() if file.exists() and not replace]
        if existing:
            raise CtxtuiError("there is a file already", place=str(existing[0]), way_out="--force replaces it")
        self._waiting: dict[str, list[Row]] = {name: [] for name in TABLES}
        self._schemas = {name: self._table_schema(name) for name in TABLES}
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._writers = {name: self._open_writer(name) for name in TABLES}
        except OSError as error:
            raise _write_error(folder, error) from error

    def _table_schema(self, name: str) -> Any:
        return self._arrow.schema([(column, _arrow_type(self._arrow, kind)) for column, kind in TABLES[name].items()])

    def _part_file(self, name: str) -> Path:
        return self.files[name].with_suffix(".parquet.part")

    def _open_writer(self, name: str) -> Any:
        part = self._part_file(name)
        part.unlink(missing_ok=True)
        part.touch(mode=0o600)
        return self._parquet.ParquetWriter(part, self._schemas[name], compression="zstd")

    def add(self, tables: Mapping[str, list[Row]]) -> None:
        for name, rows in tables.items():
            self._waiting[name] += rows
            self.rows[name] += len(rows)
            if len(self._waiting[name]) >= BATCH_ROWS:
                self._write_batch(name)

    def _write_batch(self, name: str) -> None:
        rows, self._waiting[name] = self._waiting[name], []
        try:
            self._writers[name].write_table(self._arrow.Table.from_pylist(rows, schema=self._schemas[name]))
        except OSError as error:
            raise _write_error(self.files[name], error) from error

    def __enter__(self) -> ParquetFolder:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None:
                for name in TABLES:
                    self._write_batch(name)
            for writer in self._writers.values():
                writer.close()
            if kind is None:
                for name in TABLES:
                    self._part_file(name).replace(self.files[name])
        except OSError as error:
            raise _write_error(self.files["sessions"].parent, error) from error
        finally:
            for name in TABLES:
                with suppress(OSError):
                    self._part_file(name).unlink(missing_ok=True)


def _write_error(path: Path, error: OSError) -> CtxtuiError:
    return CtxtuiError(f"it cannot be written: {error.strerror or error}", place=str(path), way_out="another -o FOLDER")


def _arrow_type(arrow: ModuleType, kind: str) -> Any:
    if kind == TEXTS:
        return arrow.list_(arrow.string())
    return arrow.timestamp("us", tz="UTC") if kind == TIME else getattr(arrow, kind)()


def _import_arrow() -> tuple[ModuleType, ModuleType]:
    arrow = import_extra("parquet", "parquet")
    return arrow, arrow.parquet
