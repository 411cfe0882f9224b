"""Hits in all sessions as rows: a session's name over the blocks that hold the text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ctxtui.core.category import INDEX
from ctxtui.core.session import MAIN
from ctxtui.views.text import safe_text
from ctxtui.views.text.signs import CATEGORY
from ctxtui.views.text.span import Span, cropped
from ctxtui.views.text.table import Column, Table
from ctxtui.views.transcript.hits import STYLE


@dataclass(frozen=True, slots=True, kw_only=True)
class Spotted:
    """A block with hits in the session `target` (a path or stored id) called `title`.

    Call `call` (from 1) of `thread` is the first to have it, None where none has yet. The characters from `at` to `end`
    of `snippet` are its first hit.
    """

    target: str
    title: str
    thread: str
    call: int | None
    digest: str
    category: str
    label: str
    hits: int
    snippet: str
    at: int
    end: int


@dataclass(frozen=True, slots=True)
class SearchProgress:
    """One more session is searched: `done` of `total`, `direct` of which the index does not know; its `found` blocks.
    `trouble` ends the search."""

    done: int
    total: int
    direct: int
    found: tuple[Spotted, ...] = ()
    trouble: str = ""


Row = Spotted | str
"""A block, or the name of the session to which those below belong."""


def _where(one: Spotted, room: int) -> Span:
    where = f"call {one.call:,}" if one.call is not None else "not sent"
    return Span(where + ("" if one.thread == MAIN else f" {safe_text.one_line(one.thread)}"), "ink")


def _snippet(one: Spotted, room: int) -> list[Span]:
    spans = [
        Span(safe_text.line(one.snippet[: one.at]), "ink"),
        Span(safe_text.line(one.snippet[one.at : one.end]), STYLE),
        Span(safe_text.line(one.snippet[one.end :]), "ink"),
    ]
    return cropped([*spans, Span(f"  {one.hits:,} hits" if one.hits > 1 else "", "dim")], room)


TABLE: Final[Table[Spotted]] = Table(
    (
        Column("", 10, _where, "left"),
        Column("", 1, lambda one, _: CATEGORY[INDEX[one.category]].span, gap=1),
        Column("", 14, lambda one, _: Span(safe_text.one_line(one.label), "dim"), "left", gap=1),
        Column("", 0, _snippet, "left", gap=2, least=0),
    ),
    mark=2,
    tail=0,
)
"""The blocks with hits."""


def told(done: int, total: int, blocks: int, direct: int, *, capped: bool) -> str:
    """How far the search is: `done` of `total` sessions, `blocks` with hits; `direct` are not in the index."""
    found = f"{blocks:,}{'+' if capped else ''} block{'s' if blocks != 1 else ''}"
    if done < total:
        return f"{found} · {done:,} of {total:,} sessions"
    unindexed = f", {direct:,} of them not indexed yet: read" if direct else ""
    return f"{found} in {total:,} sessions{unindexed}"
