"""Hits in all sessions as rows: a session's name over the blocks that hold the text."""

from __future__ import annotations

from dataclasses import dataclass

from ctxtui.core.category import INDEX
from ctxtui.core.session import MAIN
from ctxtui.views.text import cells, safe_text
from ctxtui.views.text.signs import CATEGORY
from ctxtui.views.text.span import Span, Spans, cropped
from ctxtui.views.transcript.hits import STYLE

_WHERE, _LABEL = 10, 14


@dataclass(frozen=True, slots=True)
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


def line(one: Spotted, width: int, *, here: bool) -> Spans:
    """The row of a block in `width` cells."""
    where = f"call {one.call:,}" if one.call is not None else "not sent"
    thread = "" if one.thread == MAIN else f" {safe_text.one_line(one.thread)}"
    spans = [
        Span("▸ " if here else "  ", "accent"),
        Span(cells.left(cells.fit(where + thread, _WHERE), _WHERE) + " ", "ink"),
        CATEGORY[INDEX[one.category]].span,
        Span(" " + cells.left(cells.fit(safe_text.one_line(one.label), _LABEL), _LABEL) + "  ", "dim"),
        Span(safe_text.line(one.snippet[: one.at]), "ink"),
        Span(safe_text.line(one.snippet[one.at : one.end]), STYLE),
        Span(safe_text.line(one.snippet[one.end :]), "ink"),
    ]
    more = [Span(f"  {one.hits:,} hits", "dim")] if one.hits > 1 else []
    return cropped([*spans, *more], width)


def told(done: int, total: int, blocks: int, direct: int, *, capped: bool) -> str:
    """How far the search is: `done` of `total` sessions, `blocks` with hits; `direct` are not in the index."""
    found = f"{blocks:,}{'+' if capped else ''} block{'s' if blocks != 1 else ''}"
    if done < total:
        return f"{found} · {done:,} of {total:,} sessions"
    unindexed = f", {direct:,} of them not indexed yet: read" if direct else ""
    return f"{found} in {total:,} sessions{unindexed}"
