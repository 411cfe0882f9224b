"""Sessions, calls, tools and quotas as tables for other engines, and as Parquet files, written piece by piece."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from ctxtui.core.errors import CtxtuiError, NotFound
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


class TableRows:
    """The rows of sessions that are told one after the other, with their calls from `since` (Unix seconds) on; a call
    without a time is as old as its session. A call that stands in several recordings is a row of each; `first_seen` in
    the one that owns it, so that sums over it count each call once, and nowhere for what ctxtui copied."""

    def __init__(self, owners: CallOwners, since: float = 0.0) -> None:
        self._owners = owners
        self._since = since

    def of(self, one: SessionSummary) -> dict[str, list[Row]]:
        """The rows of each of `TABLES` of a session whose figures are known: none where it has no call of that time."""
        own = set(map(id, self._owners.own(one.key, one.spent)))
        calls = [
            _call(one, number, call, id(call) in own)
            for number, call in enumerate(one.spent, 1)
            if (call.started or one.mtime) >= self._since
        ]
        if self._since and not calls:
            return {}
        return {"sessions": [_session(one)], "calls": calls, "tools": _tools(one), "quotas": _quotas(one)}


def tables_of(sessions: Iterable[SessionSummary], since: float = 0.0) -> dict[str, list[Row]]:
    """All rows of sessions whose figures are known, by table."""
    sessions, owners = list(sessions), CallOwners()
    for one in sessions:
        owners.put(one.key, one.spent)
    rows, found = TableRows(owners, since), dict[str, list[Row]]((name, []) for name in TABLES)
    for one in sessions:
        for name, more in rows.of(one).items():
            found[name] += more
    return found


def _session(one: SessionSummary) -> Row:
    return {
        "session": one.key,
        "path": one.path or None,
        "id": one.id,
        "source": one.source or None,
        "client_version": one.client_version or None,
        "project": one.cwd or None,
        "title": one.title,
        "changed": _time(one.mtime),
        "model": one.model or None,
        "calls": one.calls,
        "turns": one.turns,
        "subagents": one.subagents,
        "peak_tokens": one.peak_tokens,
        "window": one.window or None,
        "usable": one.usable or None,
        "total_tokens": one.total_tokens,
        "usd": one.cost_usd,
        "usd_at_least": one.known_usd,
        "unpriced_calls": one.unpriced,
        "misses": one.misses,
        "compactions": one.compactions,
        "compressors": list(one.compressors),
        "policies": list(one.policies),
    }


def _call(one: SessionSummary, number: int, call: CallSpent, first: bool) -> Row:
    return {
        "session": one.key,
        "number": number,
        "id": call.id,
        "thread": call.thread or "main",
        "started": _time(call.started),
        "model": one.models[call.model][0] if call.model >= 0 else None,
        # What was not reported is not zero.
        "input": call.input if call.tokens else None,
        "cache_read": call.read if call.tokens else None,
        "output": call.tokens - call.input if call.tokens else None,
        "usd": call.cost,
        "miss": MISSED in call.marks,
        "lost_usd": call.lost,
        "cause": call.cause or None,
        "compaction": COMPACTED in call.marks,
        "over_usable": OVER in call.marks,
        "skill": call.skill or None,
        "first_seen": first,
    }


def _tools(one: SessionSummary) -> list[Row]:
    return [
        {
            "session": one.key,
            "server": tool.server or None,
            "name": tool.name,
            "mcp": tool.mcp,
            "state": tool.state,
            "schema_tokens": tool.tokens,
            "carried_calls": sum(end - first for first, end in tool.carried),
            "called": len(tool.called),
            "result_tokens": tool.results,
            "schema_usd": tool.schema_usd,
            "use_usd": tool.use_usd,
        }
        for tool in one.tools
    ]


def _quotas(one: SessionSummary) -> list[Row]:
    return [
        {
            "session": one.key,
            "quota": report.limit,
            "window_minutes": report.minutes,
            "used": report.used,
            "resets": _time(report.resets),
            "reported": _time(report.at),
            "raw": report.raw or None,
        }
        for report in one.quotas
    ]


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
