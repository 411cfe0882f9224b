"""Search hits in all sessions as rows: a session title above its blocks with hits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct, field

from ctxtui.core.category import INDEX
from ctxtui.core.session import MAIN
from ctxtui.views.model.preview import tool_label
from ctxtui.views.text import cells, numbers, safe_text, sums
from ctxtui.views.text.signs import CATEGORY
from ctxtui.views.text.span import Span, cropped
from ctxtui.views.text.table import Column, Table
from ctxtui.views.transcript.hits import HIT_STYLE


class BlockHits(Struct, frozen=True, kw_only=True):
    """A block with hits in the session `target` (a path or stored id).

    `call` (from 1) of `thread` is the first call that contains it, None if it was not sent yet. Characters `at` to
    `end` of `snippet` are its first hit.
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
    """Progress after one session: `done` of `total`, `unindexed` of them are not in the index.

    `trouble`: the error that ended the search.
    """

    done: int
    total: int
    unindexed: int
    new_hits: tuple[BlockHits, ...] = ()
    trouble: str = ""


class FoundSession(Struct):
    """A session with hits; its first `MAX_FOLDED_BLOCKS` are listed until it is `opened`."""

    target: str
    title: str
    blocks: list[BlockHits] = field(default_factory=list)
    opened: bool = False


class Folded(Struct, frozen=True):
    """Placeholder for the unlisted blocks of a session."""

    session: FoundSession


Row = BlockHits | FoundSession | Folded
_OF_TOOLS: Final = frozenset({"tool_call", "tool_result", "tools"})
MAX_FOLDED_BLOCKS: Final = 3
"""Blocks of a session that are listed at first, so that one session does not hide the others."""


def rows(sessions: Sequence[FoundSession]) -> list[Row]:
    """The rows of the list.

    A session with only one block more than `MAX_FOLDED_BLOCKS` is listed whole: a row for the rest saves no line.
    """
    out: list[Row] = []
    for session in sessions:
        is_complete = session.opened or len(session.blocks) <= MAX_FOLDED_BLOCKS + 1
        out += [session, *(session.blocks if is_complete else session.blocks[:MAX_FOLDED_BLOCKS])]
        if not is_complete:
            out.append(Folded(session))
    return out


def session_line(session: FoundSession, room: int, *, here: bool) -> list[Span]:
    count = numbers.many(len(session.blocks), "block")
    mark = Span("▸ " if here else "  ", "accent")
    title = cells.fit(safe_text.one_line(session.title or session.target), max(0, room - 5 - len(count)))
    return [mark, Span(title, "ink bold"), Span(f"  {count}", "dim")]


def explain_count(row: Row) -> str:
    if isinstance(row, BlockHits):
        times = "once" if row.hits == 1 else f"{row.hits:,} times"
        return f"The text occurs {times} in this block" + (
            f", which call {row.call:,} read first." if row.call else "."
        )
    session = row.session if isinstance(row, Folded) else row
    hits = sum(block.hits for block in session.blocks)
    whole = f"The text occurs {numbers.many(hits, 'time')} in {numbers.many(len(session.blocks), 'block')}"
    return (
        f"{whole}; {len(session.blocks) - MAX_FOLDED_BLOCKS:,} are not listed."
        if isinstance(row, Folded)
        else f"{whole}."
    )


def explain_total(found_sessions: Sequence[FoundSession]) -> str:
    return sums.addition(
        sum(len(session.blocks) for session in found_sessions),
        "blocks",
        [len(session.blocks) for session in found_sessions],
        "sessions",
    )


def folded_line(folded: Folded, *, here: bool) -> list[Span]:
    hidden = len(folded.session.blocks) - MAX_FOLDED_BLOCKS
    return [Span("▸ " if here else "  ", "accent"), Span(f"⋮ {hidden:,} more  ", "dim"), Span("⏎ shows them", "faint")]


def _where(block: BlockHits, room: int) -> Span:
    position = f"call {block.call:,}" if block.call is not None else "not sent"
    return Span(position + ("" if block.thread == MAIN else f" {safe_text.one_line(block.thread)}"))


def _label(block: BlockHits) -> str:
    return tool_label(block.label) if block.category in _OF_TOOLS else safe_text.one_line(block.label)


def _snippet(block: BlockHits, room: int) -> list[Span]:
    spans = [
        Span(safe_text.line(block.snippet[: block.at])),
        Span(safe_text.line(block.snippet[block.at : block.end]), HIT_STYLE),
        Span(safe_text.line(block.snippet[block.end :])),
    ]
    return cropped([*spans, Span(f"  {block.hits:,} hits" if block.hits > 1 else "", "dim")], room)


TABLE: Final[Table[BlockHits]] = Table(
    (
        Column("", 10, _where, "left"),
        Column("", 1, lambda hit, _: CATEGORY[INDEX[hit.category]].span, gap=1),
        Column("", 14, lambda hit, _: Span(_label(hit), "dim"), "left", gap=1),
        Column("", 0, _snippet, "left", gap=2, least=0),
    ),
    mark=2,
    tail=0,
)


def empty_text(text: str, done: int, total: int) -> str:
    """Text while nothing is found in `done` of `total` sessions."""
    if done < total:
        return "Searching …"
    return f"No hit for “{safe_text.one_line(text, 60)}” in {numbers.many(total, 'session')}."


def progress_text(done: int, total: int, blocks: int, sessions: int, unindexed: int, *, capped: bool) -> str:
    """Progress: `blocks` with hits in `sessions`; `unindexed` ones are not in the index.

    `capped`: there are more blocks than were kept.
    """
    block_count = f"{blocks:,}{'+' if capped else ''} block{'s' if blocks != 1 else ''}"
    if done < total:
        return f"{block_count} · {done:,} of {total:,} sessions"
    if not blocks:
        return ""
    read_directly = f", {unindexed:,} of them not indexed yet: read" if unindexed else ""
    return f"{block_count} in {sessions:,} of {total:,} sessions searched{read_directly}"
