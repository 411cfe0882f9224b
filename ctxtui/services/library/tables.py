"""Sessions, calls, tools and quotas as tables for other engines, and as Parquet files, written piece by piece."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from ctxtui.analysis.money.tool_costs import ToolCosts
from ctxtui.core.errors import CtxtuiError, NotFound
from ctxtui.core.usage import QuotaReport
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
"""The tables with their columns, in order, and the type of each."""


def table_rows(sessions: Sequence[SessionSummary], since: float = 0.0) -> Iterator[dict[str, list[Row]]]:
    """The rows of each session whose figures are known, by table, with its calls from `since` (Unix seconds) on; a call
    without a time is as old as its session. A call that stands in several recordings is a row of each; `first_seen` in
    the one that owns it, so that sums over it count each call once, and nowhere for what ctxtui copied."""
    owners = CallOwners()
    for one in sessions:
        owners.put(one.key, one.spent)
    for one in sessions:
        own = set(map(id, owners.owned_calls(one.key, one.spent)))
        calls = [
            _call(one, number, call, id(call) in own)
            for number, call in enumerate(one.spent, 1)
            if (call.started or one.mtime) >= since
        ]
        if not one.error and (calls or not since):
            tools, quotas = [_tool(one, tool) for tool in one.tools], [_quota(one, report) for report in one.quotas]
            yield {"sessions": [_session(one)], "calls": calls, "tools": tools, "quotas": quotas}


def _session(one: SessionSummary) -> Row:
    return {
        "session": one.key,
        **members(one, "path? id source? client_version? project=cwd? title"),
        "changed": _time(one.mtime),
        **members(one, "model? calls turns subagents peak_tokens window? usable? total_tokens usd=cost_usd"),
        **members(one, "usd_at_least=known_usd unpriced_calls=unpriced misses compactions"),
        "compressors": list(one.compressors),
        "policies": list(one.policies),
    }


def _call(one: SessionSummary, number: int, call: CallSpent, first: bool) -> Row:
    # What was not reported is not zero.
    sizes = call.input, call.read, call.tokens - call.input
    return {
        "session": one.key,
        "number": number,
        "id": call.id,
        "thread": call.thread or "main",
        "started": _time(call.started),
        "model": one.models[call.model][0] if call.model >= 0 else None,
        **dict(zip(("input", "cache_read", "output"), sizes if call.tokens else (None,) * 3, strict=True)),
        "usd": call.cost,
        "miss": MISSED in call.marks,
        **members(call, "lost_usd=lost cause?"),
        "compaction": COMPACTED in call.marks,
        "over_usable": OVER in call.marks,
        "skill": call.skill or None,
        "first_seen": first,
    }


def _tool(one: SessionSummary, tool: ToolCosts) -> Row:
    return {
        "session": one.key,
        **members(tool, "server? name mcp state schema_tokens=tokens"),
        "carried_calls": sum(end - first for first, end in tool.carried),
        "called": len(tool.called),
        **members(tool, "result_tokens=results schema_usd use_usd"),
    }


def _quota(one: SessionSummary, report: QuotaReport) -> Row:
    return {
        "session": one.key,
        **members(report, "quota=limit window_minutes=minutes used"),
        "resets": _time(report.resets),
        "reported": _time(report.at),
        "raw": report.raw or None,
    }


def _time(seconds: float) -> datetime | None:
    return datetime.fromtimestamp(seconds, UTC) if seconds else None


_PIECE: Final = 20_000
"""Rows that are written together."""


class ParquetFolder:
    """``with ParquetFolder(folder, replace=False) as out: out.add(rows)``: a file ``NAME.parquet`` for each table, for
    the user alone, once all are whole; none where the block ends in an error. Raises `CtxtuiError` at the beginning:
    where pyarrow is not installed, a file is there already and not to be replaced, or the folder cannot be written."""

    def __init__(self, folder: Path, *, replace: bool) -> None:
        self._arrow, self._parquet = _arrow()
        self.files = {name: folder / f"{name}.parquet" for name in TABLES}
        self.rows = dict.fromkeys(TABLES, 0)
        """Rows of each table so far."""
        there = [file for file in self.files.values() if file.exists() and not replace]
        if there:
            raise CtxtuiError("there is a file already", place=str(there[0]), way_out="--force replaces it")
        self._waiting: dict[str, list[Row]] = {name: [] for name in TABLES}
        self._schemas = {name: self._schema(name) for name in TABLES}
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._writers = {name: self._writer(name) for name in TABLES}
        except OSError as error:
            raise _unwritable(folder, error) from error

    def _schema(self, name: str) -> Any:
        return self._arrow.schema([(column, _type(self._arrow, kind)) for column, kind in TABLES[name].items()])

    def _half(self, name: str) -> Path:
        return self.files[name].with_suffix(".parquet.part")

    def _writer(self, name: str) -> Any:
        half = self._half(name)
        half.unlink(missing_ok=True)
        half.touch(mode=0o600)
        return self._parquet.ParquetWriter(half, self._schemas[name], compression="zstd")

    def add(self, tables: Mapping[str, list[Row]]) -> None:
        """More rows of each table."""
        for name, rows in tables.items():
            self._waiting[name] += rows
            self.rows[name] += len(rows)
            if len(self._waiting[name]) >= _PIECE:
                self._write(name)

    def _write(self, name: str) -> None:
        rows, self._waiting[name] = self._waiting[name], []
        try:
            self._writers[name].write_table(self._arrow.Table.from_pylist(rows, schema=self._schemas[name]))
        except OSError as error:
            raise _unwritable(self.files[name], error) from error

    def __enter__(self) -> ParquetFolder:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None:
                for name in TABLES:
                    self._write(name)
            for writer in self._writers.values():
                writer.close()
            if kind is None:
                for name in TABLES:
                    self._half(name).replace(self.files[name])
        except OSError as error:
            raise _unwritable(self.files["sessions"].parent, error) from error
        finally:
            for name in TABLES:
                with suppress(OSError):
                    self._half(name).unlink(missing_ok=True)


def _unwritable(path: Path, error: OSError) -> CtxtuiError:
    return CtxtuiError(f"it cannot be written: {error.strerror or error}", place=str(path), way_out="another -o FOLDER")


def _type(arrow: ModuleType, kind: str) -> Any:
    if kind == TEXTS:
        return arrow.list_(arrow.string())
    return arrow.timestamp("us", tz="UTC") if kind == TIME else getattr(arrow, kind)()


def _arrow() -> tuple[ModuleType, ModuleType]:
    try:
        # By name: it is an extra, and has no types of its own.
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError as error:
        raise NotFound("pyarrow is not installed", way_out="pip install 'ctxtui[parquet]'") from error
