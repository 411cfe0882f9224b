"""Orders for the writers of sessions to resume: a session as it is, without some of its blocks, or with other ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any

from ctxtui.core import block, block_content
from ctxtui.core.block import HEADER, Item, Place
from ctxtui.core.session import Session
from ctxtui.transcripts.kit.resume import ResumeOrder, SentBlock, recorded_items
from tests.transcripts.driving import read

NOW = 1_795_378_500.0


def ids() -> Iterator[str]:
    """Different UUIDs, the same in every run."""
    return (f"{n:08x}-0000-4000-8000-{n:012x}" for n in count(1))


def path_of(session: Session) -> list[Item]:
    """The blocks at the end of the main thread."""
    return list(session.tree.items(session.threads["main"].tip))


def words(item: Item) -> str:
    """What a model reads in a block."""
    return block_content.read(item.block).text


def shown(items: Sequence[Item]) -> list[str]:
    """Role and words of each block that a transcript holds."""
    return [f"{item.place.role} {item.block.kind} {words(item)}" for _, item in recorded_items(enumerate(items))]


def whole(data: bytes) -> list[SentBlock]:
    """The context of a session, unchanged."""
    return [SentBlock(item, at) for at, item in enumerate(path_of(read(data).session))]


def without(data: bytes, *gone: str) -> list[SentBlock]:
    """The context without blocks in which one of these texts is; a call's result goes with it."""
    calls = [
        block_content.read(one.item.block).call_id
        for one in whole(data)
        if any(text in one.item.block.body.decode() for text in gone) and one.item.block.kind != HEADER
    ]
    return [
        one
        for one in whole(data)
        if one.item.block.kind == HEADER
        or not (
            any(text in one.item.block.body.decode() for text in gone)
            or block_content.read(one.item.block).call_id in filter(None, calls)
        )
    ]


def changed(data: bytes, change: Callable[[Any], Any]) -> list[SentBlock]:
    """The context with `change` of each block's value; None: as it is."""
    sent = []
    for one in whole(data):
        value = change(one.item.block.value()) if one.item.block.kind != HEADER else None
        sent.append(one if value is None else SentBlock(Item(block.from_part(value), one.item.place), one.at))
    return sent


def note(text: str, role: str = "user") -> SentBlock:
    """A block that is new."""
    return SentBlock(Item(block.text(text), Place("messages", role)))


def some(data: bytes, drop: set[int], notes: set[int]) -> list[SentBlock]:
    """The context without the blocks `drop` (calls and results stay), and with a note before some user's messages."""
    sent, turns, kind = list[SentBlock](), 0, ""
    for one in whole(data):
        before, kind = kind, one.item.block.kind
        asked = before == HEADER and kind == "text" and one.item.place.role == "user"
        turns += asked
        sent += [note(f"note {turns}")] if asked and turns in notes else []
        sent += [one] if one.at not in drop or kind in (HEADER, "tool_use", "tool_result") else []
    return sent


def order(data: bytes, sent: Sequence[SentBlock] | None = None, **more: Any) -> ResumeOrder:
    """An order for the session that `data` is; `sent` is what it resumes with (None: its own context)."""
    session = read(data).session
    return ResumeOrder(
        source=data,
        path=path_of(session),
        sent=whole(data) if sent is None else sent,
        ids=ids(),
        now=NOW,
        session=session.about.id,
        **more,
    )
