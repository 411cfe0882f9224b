"""Hits in all sessions as rows: a session's name over the blocks that hold the text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct, field

from ctxtui.core.category import INDEX
from ctxtui.core.session import MAIN
from ctxtui.views.model.preview import tool_label
from ctxtui.views.text import cells, safe_text, sums
from ctxtui.views.text.signs import CATEGORY
from ctxtui.views.text.span import Span, cropped
from ctxtui.views.text.table import Column, Table
from ctxtui.views.transcript.hits import STYLE


class Spotted(Struct, frozen=True, kw_only=True):
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


class SearchProgress(Struct, frozen=True):
    """One more session is searched: `done` of `total`, `direct` of which the index does not know; its `found` blocks.
    `trouble` ends the search."""

    done: int
    total: int
    direct: int
    found: tuple[Spotted, ...] = ()
    trouble: str = ""


class FoundSession(Struct):
    """A session with hits, called `title`; its blocks below it, the first `FEW` of them until it is `opened`."""

    target: str
    title: str
    blocks: list[Spotted] = field(default_factory=list)
    opened: bool = False


class Folded(Struct, frozen=True):
    """Stands for the blocks of a session that are not listed."""

    session: FoundSession


Row = Spotted | FoundSession | Folded
_OF_TOOLS: Final = frozenset({"tool_call", "tool_result", "tools"})
FEW: Final = 3
"""Blocks of a session that are listed until it is opened: one session does not hide the others."""


def rows(found: Sequence[FoundSession]) -> list[Row]:
    """What is listed."""
    out: list[Row] = []
    for session in found:
        whole = session.opened or len(session.blocks) <= FEW + 1
        out += [session, *(session.blocks if whole else session.blocks[:FEW])]
        if not whole:
            out.append(Folded(session))
    return out


def name(session: FoundSession, room: int, *, here: bool) -> list[Span]:
    """The line of a session in `room` cells: its title, and how many blocks of it hold the text."""
    many = f"{len(session.blocks):,} block{'' if len(session.blocks) == 1 else 's'}"
    mark = Span("▸ " if here else "  ", "accent")
    title = cells.fit(safe_text.one_line(session.title or session.target), max(0, room - 5 - len(many)))
    return [mark, Span(title, "ink bold"), Span(f"  {many}", "dim")]


def sum_of(row: Row) -> str:
    """What the count in a line is made of."""
    if isinstance(row, Spotted):
        times = "once" if row.hits == 1 else f"{row.hits:,} times"
        return f"The text stands {times} in this block" + (
            f", which call {row.call:,} read first." if row.call else "."
        )
    session = row.session if isinstance(row, Folded) else row
    hits = sum(one.hits for one in session.blocks)
    whole = f"{len(session.blocks):,} blocks of it hold the text, {hits:,} times in all"
    return f"{whole}; {len(session.blocks) - FEW:,} are not listed." if isinstance(row, Folded) else f"{whole}."


def sum_of_total(found: Sequence[FoundSession]) -> str:
    """What the count of all is made of."""
    return sums.added(sum(len(one.blocks) for one in found), "blocks", [len(one.blocks) for one in found], "sessions")


def more(folded: Folded, *, here: bool) -> list[Span]:
    """The line for what is folded."""
    left = len(folded.session.blocks) - FEW
    return [Span("▸ " if here else "  ", "accent"), Span(f"⋮ {left:,} more  ", "dim"), Span("⏎ shows them", "faint")]


def _where(one: Spotted, room: int) -> Span:
    where = f"call {one.call:,}" if one.call is not None else "not sent"
    return Span(where + ("" if one.thread == MAIN else f" {safe_text.one_line(one.thread)}"))


def _label(one: Spotted) -> str:
    return tool_label(one.label) if one.category in _OF_TOOLS else safe_text.one_line(one.label)


def _snippet(one: Spotted, room: int) -> list[Span]:
    spans = [
        Span(safe_text.line(one.snippet[: one.at])),
        Span(safe_text.line(one.snippet[one.at : one.end]), STYLE),
        Span(safe_text.line(one.snippet[one.end :])),
    ]
    return cropped([*spans, Span(f"  {one.hits:,} hits" if one.hits > 1 else "", "dim")], room)


TABLE: Final[Table[Spotted]] = Table(
    (
        Column("", 10, _where, "left"),
        Column("", 1, lambda one, _: CATEGORY[INDEX[one.category]].span, gap=1),
        Column("", 14, lambda one, _: Span(_label(one), "dim"), "left", gap=1),
        Column("", 0, _snippet, "left", gap=2, least=0),
    ),
    mark=2,
    tail=0,
)
"""The blocks with hits."""


def none(text: str, done: int, total: int) -> str:
    """What is said as long as nothing was found in `done` of `total` sessions."""
    if done < total:
        return "Searching …"
    return f"No hit for “{safe_text.one_line(text, 60)}” in {total:,} sessions."


def told(done: int, total: int, blocks: int, sessions: int, direct: int, *, capped: bool) -> str:
    """How far the search is: `done` of `total` sessions, `blocks` with hits in so many `sessions`; `direct` are not in
    the index."""
    found = f"{blocks:,}{'+' if capped else ''} block{'s' if blocks != 1 else ''}"
    if done < total:
        return f"{found} · {done:,} of {total:,} sessions"
    if not blocks:
        return ""
    unindexed = f", {direct:,} of them not indexed yet: read" if direct else ""
    return f"{found} in {sessions:,} of {total:,} sessions searched{unindexed}"
