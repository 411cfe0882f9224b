"""Sessions, calls and tools as tables for other engines: one row each, columns of plain values, written as Parquet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ctxtui.core.errors import CtxtuiError, NotFound
from ctxtui.views.model.session_summary import COMPACTED, MISSED, OVER, CallSpent, SessionSummary

if TYPE_CHECKING:
    from types import ModuleType

Row = Mapping[str, Any]

_TEXT, _WHOLE, _REAL, _YES, _TIME, _TEXTS = "string", "int64", "float64", "bool_", "timestamp", "texts"
SESSIONS: Final = {
    "session": _TEXT, "path": _TEXT, "id": _TEXT, "source": _TEXT, "client_version": _TEXT, "project": _TEXT,
    "title": _TEXT, "changed": _TIME, "model": _TEXT, "calls": _WHOLE, "turns": _WHOLE, "subagents": _WHOLE,
    "peak_tokens": _WHOLE, "window": _WHOLE, "usable": _WHOLE, "total_tokens": _WHOLE, "usd": _REAL,
    "usd_at_least": _REAL, "unpriced_calls": _WHOLE, "misses": _WHOLE, "compactions": _WHOLE,
    "compressors": _TEXTS, "policies": _TEXTS,
}  # fmt: skip
CALLS: Final = {
    "session": _TEXT, "number": _WHOLE, "id": _TEXT, "thread": _TEXT, "started": _TIME, "model": _TEXT,
    "input": _WHOLE, "cache_read": _WHOLE, "output": _WHOLE, "usd": _REAL, "miss": _YES, "lost_usd": _REAL,
    "cause": _TEXT, "compaction": _YES, "over_usable": _YES, "skill": _TEXT, "first_seen": _YES,
}  # fmt: skip
TOOLS: Final = {
    "session": _TEXT, "server": _TEXT, "name": _TEXT, "mcp": _YES, "state": _TEXT, "schema_tokens": _WHOLE,
    "carried_calls": _WHOLE, "called": _WHOLE, "result_tokens": _WHOLE, "schema_usd": _REAL, "use_usd": _REAL,
}  # fmt: skip
TABLES: Final = {"sessions": SESSIONS, "calls": CALLS, "tools": TOOLS}
"""The tables with their columns, in order, and the type of each."""


def tables_of(sessions: Iterable[SessionSummary]) -> dict[str, list[Row]]:
    """The rows of each of `TABLES` over sessions whose figures are known. A call that stands in several recordings is a
    row of each; `first_seen` in one of them, so that sums over it count each call once."""
    found: dict[str, list[Row]] = {name: [] for name in TABLES}
    seen: set[str] = set()
    for one in sessions:
        found["sessions"].append(_session(one))
        for number, call in enumerate(one.spent, 1):
            found["calls"].append(_call(one, number, call, call.id not in seen))
            seen.add(call.id)
        found["tools"] += _tools(one)
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
        "input": call.input,
        "cache_read": call.read,
        "output": call.tokens - call.input,
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


def _time(seconds: float) -> datetime | None:
    return datetime.fromtimestamp(seconds, UTC) if seconds else None


def write_parquet(tables: Mapping[str, Sequence[Row]], folder: Path, *, replace: bool) -> dict[str, Path]:
    """Write each table as ``NAME.parquet`` into `folder`, for the user alone; the files by table. Raises `CtxtuiError`
    where pyarrow is not installed, or a file is there already and not to be replaced."""
    arrow, parquet = _arrow()
    files = {name: folder / f"{name}.parquet" for name in tables}
    there = [file for file in files.values() if file.exists() and not replace]
    if there:
        raise CtxtuiError("there is a file already", place=str(there[0]), way_out="--force replaces it")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name, rows in tables.items():
        schema = arrow.schema([(column, _type(arrow, kind)) for column, kind in TABLES[name].items()])
        half = files[name].with_suffix(".parquet.part")
        half.touch(mode=0o600)
        parquet.write_table(arrow.Table.from_pylist(list(rows), schema=schema), half, compression="zstd")
        half.replace(files[name])
    return files


def _type(arrow: ModuleType, kind: str) -> Any:
    if kind == _TEXTS:
        return arrow.list_(arrow.string())
    return arrow.timestamp("us", tz="UTC") if kind == _TIME else getattr(arrow, kind)()


def _arrow() -> tuple[ModuleType, ModuleType]:
    try:
        # By name: it is an extra, and has no types of its own.
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError as error:
        raise NotFound("pyarrow is not installed", way_out="pip install 'ctxtui[parquet]'") from error
