"""The tables of sessions, calls and tools as Parquet files, written piece by piece: no more than a piece is held."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from ctxtui.core.errors import CtxtuiError, NotFound
from ctxtui.services.library.tables import TABLES, TEXTS, TIME, Row

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
