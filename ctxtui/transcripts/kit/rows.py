"""Recordings in databases and folders: the edge reads them and hands them over as one stream, pure readers take it.

A database's first line names the tables (``{"rows_of": [...]}``), each further one is ``{"table": ..., "row": {...}}``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from ctxtui.core import canonical
from ctxtui.core.canonical import Json
from ctxtui.core.session import Event
from ctxtui.core.tree import Tree
from ctxtui.transcripts.kit import file_head
from ctxtui.transcripts.kit.fields import listed, obj, word
from ctxtui.transcripts.kit.readers import LinesReader
from ctxtui.transcripts.kit.records import FoundObject

Row = dict[str, Json]
Tables = dict[str, list[Row]]
HEAD: Final = "rows_of"
JOB: Final = "files of a job folder"
"""What a list of the numbered files of a job begins with: the edge makes one of a folder."""
LOGS: Final = "logs of requests"
"""What a list of logs begins with: the edge makes one of a folder."""


def tables_in(head: bytes) -> frozenset[str]:
    """The tables that a file of rows says it has; empty for any other file."""
    if HEAD.encode() not in head[:200]:
        return frozenset()
    first = next(iter(file_head.values(head)), None)
    return frozenset(map(word, listed(obj(first).get(HEAD))))


def decoded(value: Json) -> Json:
    """A column that holds JSON as text; the text itself where it is none."""
    if not isinstance(value, str):
        return value
    try:
        return canonical.loads(value)
    except (ValueError, RecursionError):
        return value


class _Rows:
    """Gathers rows; what they come to is told when no more come for now."""

    def __init__(self, tree: Tree, told: Callable[[Tables, Tree], Iterator[Event]]) -> None:
        self._tree, self._told = tree, told
        self._tables: Tables = {}

    def record(self, value: dict[str, Json], found: FoundObject) -> Iterator[Event]:
        if isinstance(value.get("row"), dict):
            self._tables.setdefault(word(value.get("table")), []).append(value["row"])
        return iter(())

    def standing(self) -> Iterator[Event]:
        return self._told(self._tables, self._tree)


def rows_reader(told: Callable[[Tables, Tree], Iterator[Event]]) -> Callable[[Tree], LinesReader]:
    """The `open` of a format of rows; `told` gives its events, which must be the same for the same rows."""
    return lambda tree: LinesReader(_Rows(tree, told))
