"""Detects values that ctxtui never writes: SQLite returns whatever is in a damaged page."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from functools import cache, wraps
from typing import Final, ParamSpec, TypeVar

import msgspec

P = ParamSpec("P")
R = TypeVar("R")

_TYPES: Final = {
    "INTEGER": ("integer",),
    "REAL": ("real", "integer"),
    "TEXT": ("text", "blob"),
    "BLOB": ("blob", "text"),
}
"""The types (as ``typeof`` names them) that values of a column may have, by its declared type.

A text with a lone surrogate is a BLOB (`schema.tables`); an uncompressed body is TEXT in a BLOB column.
"""
_MAX_REAL: Final = 2.5e11
"""Largest plausible number: a time (Unix seconds, in the year 9892) or a sum (USD)."""


class Damaged(Exception):
    """Rows that cannot be read; `errors.explain_errors` adds the database's name."""


def decodes(function: Callable[P, R]) -> Callable[P, R]:
    """Decorator: raise `Damaged` for rows that `function` cannot decode."""

    @wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except (ValueError, TypeError, LookupError, OverflowError, msgspec.MsgspecError) as error:
            raise Damaged(f"{type(error).__name__}: {error}") from error

    return wrapped


def check_rows(conn: sqlite3.Connection, table: str, where: str, *args: object) -> None:
    """Raise `Damaged` if a row of `table` has a value of a wrong type or too large a number.

    `where` is the SQL condition of the rows to check, with `args` for its question marks.
    """
    rows = conn.execute(f"PRAGMA table_info({table})").fetchall()
    columns = tuple((name, kind, bool(not_null or primary)) for _, name, kind, not_null, _, primary in rows)
    rows_with_fault = conn.execute(
        f"SELECT {_wrong_column_sql(columns)} FROM {table} WHERE ({where}) AND {_wrong_column_sql(columns)} != ''", args
    )
    for (name,) in rows_with_fault:
        raise Damaged(f"{table}.{name} has a value of the wrong type or size")


@cache
def _wrong_column_sql(columns: tuple[tuple[str, str, bool], ...]) -> str:
    """SQL for the name of the first of `columns` with a wrong value, "" if none."""
    cases = []
    for name, kind, needed in columns:
        types = (*_TYPES.get(kind.upper(), ("integer", "real", "text", "blob")), *(() if needed else ("null",)))
        listed = ", ".join(f"'{type_name}'" for type_name in types)
        beyond = f" OR abs({name}) > {_MAX_REAL}" if kind.upper() == "REAL" else ""
        cases.append(f"WHEN typeof({name}) NOT IN ({listed}){beyond} THEN '{name}'")
    return f"CASE {' '.join(cases)} ELSE '' END"
