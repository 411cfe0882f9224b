"""Driving a reader in tests: any chunking, several files, contexts in words."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from ctxtui.core import block_content
from ctxtui.core.block import HEADER
from ctxtui.core.call import Call
from ctxtui.core.session import MAIN, Event, Session
from ctxtui.transcripts.reader import Reader
from ctxtui.transcripts.registry import FORMATS, detect


@dataclass
class Read:
    """What reading gave."""

    session: Session
    reader: Any
    events: list[Event]

    @property
    def calls(self) -> list[Call]:
        return self.session.thread_calls(MAIN)

    def call(self, id: str) -> Call:
        return self.session.calls[id]

    def context(self, id: str) -> list[str]:
        """The context that call `id` had, as words."""
        return words(self.session, self.call(id).raw_head)

    def answer(self, id: str) -> list[str]:
        """What call `id` answered."""
        call = self.call(id)
        return words(self.session, call.response_head)[len(words(self.session, call.raw_head)) :]

    def tip(self, thread: str = MAIN) -> list[str]:
        return words(self.session, self.session.threads[thread].tip)


def words(session: Session, head: int) -> list[str]:
    """A context, one string per block: ``user:``, then what it says; a mark stands before it as ``meta|``."""
    found = []
    for block, place in session.tree.items(head):
        if block.kind == HEADER:
            found.append(f"{place.role}:")
            continue
        read = block_content.read(block)
        text = read.text or read.arguments or "+".join(media.media_type for media in read.media)
        call = f"({read.call_id})" if read.call_id else ""
        kind = "" if block.kind == "text" else f"{block.kind}{call} "
        found.append(f"{place.mark}|{kind}{text}" if place.mark else f"{kind}{text}")
    return found


def chunked(data: bytes, step: int = 0, seed: int = 0) -> list[bytes]:
    """`data` in pieces of `step` bytes; of random sizes for step 0."""
    if step:
        return [data[at : at + step] for at in range(0, len(data), step)]
    rng, found, at = random.Random(seed), [], 0
    while at < len(data):
        size = rng.choice((1, 2, 7, 50, 300, 4000))
        found.append(data[at : at + size])
        at += size
    return found


def feed(reader: Reader, chunks: list[bytes], settle_often: bool = False) -> list[Event]:
    """The events of `chunks`, with the end settled (or every chunk)."""
    events: list[Event] = []
    for chunk in chunks:
        events += reader.feed(chunk)
        if settle_often:
            events += reader.settle()
    return events + reader.settle()


def read(data: bytes, chunks: list[bytes] | None = None, *, name: str = "x.jsonl", settle_often: bool = False) -> Read:
    """`data` read by the format that its head shows."""
    form = detect(data[:65536], name) or FORMATS[0]
    session = Session()
    reader = form.open(session.tree)
    events = feed(reader, [data] if chunks is None else chunks, settle_often)
    return Read(session.fold(events), reader, events)


def read_files(files: dict[str, bytes]) -> Read:
    """Several files of one session, the first of them its own."""
    (name, main), *parts = files.items()
    found = read(main, name=name)
    for part, data in parts:
        events = feed(found.reader.part(part), [data])
        found.session.fold(events)
        found.events += events
    return found


def state(session: Session) -> tuple[Any, ...]:
    """All that a session holds, to compare."""
    return (
        session.about,
        session.calls,
        session.threads,
        session.order,
        session.skipped,
        session.happenings,
        session.outcomes,
        session.quotas,
        session.tree.nodes(),
    )
