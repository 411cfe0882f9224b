"""Reading a file in a test: whole, byte by byte, with what every reader must give in either case."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from ctxtui.core.call import Call
from ctxtui.core.session import Event, Session
from ctxtui.core.tree import ROOT
from ctxtui.core.usage import Usage
from ctxtui.transcripts.kit.file_head import HEAD_BYTES
from ctxtui.transcripts.reader import Reader
from ctxtui.transcripts.registry import Format, detect

SLICE = 262_144


def form_of(data: bytes, name: str) -> Format:
    form = detect(data[:HEAD_BYTES], name)
    assert form is not None, f"no format for {name}"
    return form


def read(data: bytes, name: str, size: int = SLICE) -> Session:
    """The session that `data` makes when it comes in slices of `size` bytes."""
    return read_with(form_of(data, name), data, size)[0]


def read_with(form: Format, data: bytes, size: int = SLICE) -> tuple[Session, list[Event], Reader]:
    session = Session()
    reader = form.open(session.tree)
    events: list[Event] = []
    for at in range(0, len(data), size):
        events += reader.feed(data[at : at + size])
    events += reader.settle()
    assert reader.settle() == []
    session.fold(events)
    # Whatever a file says: sums of figures have to stay numbers.
    assert all(abs(one.usage.input) + abs(one.usage.output) < 1e19 for one in session.calls.values() if one.usage)
    return session, events, reader


def law_2(data: bytes, name: str) -> None:
    """Any chunking gives the same events and the same tree; a file that grows by lines, the same calls."""
    form = form_of(data, name)
    whole, events, reader = read_with(form, data)
    for size in (1, 7, 4096):
        cut, cut_events, cut_reader = read_with(form, data, size)
        assert cut_events == events
        assert [n.block.digest for n in cut.tree.nodes()] == [n.block.digest for n in whole.tree.nodes()]
        assert cut_reader.tail == reader.tail
    if not reader.rereads:
        growing = Session()
        follower = form.open(growing.tree)
        for line in data.splitlines(keepends=True):
            growing.fold([*follower.feed(line), *follower.settle()])
        assert _called(growing) == _called(whole)


def _called(session: Session) -> list[Any]:
    """Each call with its thread, report, context and answer."""
    return [
        (call.id, call.thread, call.usage, [item.block.digest for item in session.tree.items(call.response_head)])
        for call in sorted(session.calls.values(), key=lambda call: call.id)
    ]


def survives_cuts(data: bytes, name: str, steps: int = 40) -> None:
    """A file that breaks off anywhere is read without an error, and says where it breaks off or reads on."""
    form = form_of(data, name)
    for at in range(0, len(data), max(1, len(data) // steps)):
        read_with(form, data[:at])
        read_with(form, data[:at] + b"\xff\x00\xfe{" + data[at:])


def as_bytes(value: object, indent: int | None = None) -> bytes:
    return json.dumps(value, indent=indent, ensure_ascii=False).encode()


def lines_of(value: object) -> bytes:
    return as_lines(value if isinstance(value, list) else [value])


def as_lines(records: list[object]) -> bytes:
    return b"".join(as_bytes(record) + b"\n" for record in records)


def total(session: Session) -> Usage:
    """The sum of all reported usage."""
    found = Usage.nothing()
    for call in session.calls.values():
        found += call.usage or Usage.nothing()
    return found


def calls(session: Session, thread: str = "main") -> list[Call]:
    return session.thread_calls(thread)


def shown(session: Session, head: int, after: int = ROOT) -> list[tuple[str, str, str]]:
    """(section, role, kind) of each block on a path."""
    return [(i.place.section, i.place.role, i.block.kind) for i in session.tree.items(head, after)]


def corpus_session(path: Path) -> Session:
    """A corpus file read; it must have calls, and every context must lie on the tree."""
    session = read(path.read_bytes(), path.name)
    for call in session.calls.values():
        assert call.thread in session.threads
        assert session.tree.holds(call.response_head, call.raw_head)
    return session


def plain_records(path: Path) -> list[dict[str, object]]:
    """The objects of a JSONL file by Python's own decoder alone; several may stand on one line."""
    decoder = json.JSONDecoder(strict=False)
    found, text, at = [], path.read_text().strip(), 0
    while at < len(text):
        value, at = decoder.raw_decode(text, at)
        found.append(value)
        while text[at : at + 1].isspace():
            at += 1
    return found


def survives_depth(data: bytes, name: str) -> None:
    """Values nested as deep as a decoder goes, and deeper, stop no reader."""
    form = form_of(data, name)
    for depth in (300, 900, 980, 2000, 100_000):
        deep = b"[" * depth + b"]" * depth
        for needle in (b'"content":', b'"messages":', b'"text":', b'"usage":'):
            read_with(form, data.replace(needle, needle + deep + b',"beside":', 1))


ODD: tuple[object, ...] = (None, 3, -1.5, "x", [], {}, [None], [[1]], {"a": 1}, True, 10**400, "²")


def survives_values(value: object, name: str, write: Callable[[object], bytes] | None = None, most: int = 400) -> None:
    """A value of any type anywhere in the file stops no reader."""
    written = write or as_bytes
    form = form_of(written(value), name)
    every = list(places(value))
    for n, place in enumerate(every[:: max(1, len(every) // most)]):
        for odd in (ODD[n % len(ODD)], ODD[(n * 7 + 3) % len(ODD)]):
            read_with(form, written(changed(value, place, odd)))


def places(value: object, path: tuple[object, ...] = ()) -> Iterator[tuple[object, ...]]:
    if path:
        yield path
    members: Iterable[tuple[object, object]] = ()
    if isinstance(value, dict):
        members = value.items()
    elif isinstance(value, list):
        members = enumerate(value)
    for key, item in members:
        yield from places(item, (*path, key))


def changed(value: object, path: tuple[object, ...], odd: object) -> object:
    if not path:
        return odd
    key, *rest = path
    copy: Any = value.copy()  # type: ignore[attr-defined]
    copy[key] = changed(copy[key], tuple(rest), odd)
    return copy
