"""A recording that another process reads: what it found comes in columns, when it has read all there is.

Here the file is only looked at. When it grows, the readers of the other process go on here, from where they stood;
where they cannot be sent, new ones take the file up from its beginning: they find every node in the tree, and from
there on read as any other.
"""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Protocol

import zstandard

from ctxtui.core.call import Call
from ctxtui.core.packed_tree import PackedTree, pack, unpack_into
from ctxtui.core.session import Event, Session, Skipped
from ctxtui.core.tree import Tree
from ctxtui.dataclasses import dataclass, replace
from ctxtui.services import free_memory
from ctxtui.services.child_process import ChildGone
from ctxtui.services.recordings.companion_files import CompanionPart
from ctxtui.services.recordings.file_tail import SLICE, FileChange, Tail
from ctxtui.services.recordings.first_reading import FirstReading
from ctxtui.services.recordings.recording import Loaded, RecordingNews
from ctxtui.transcripts.kit.reader_state import readers_from, state_of
from ctxtui.transcripts.reader import Reader

_LEVEL: Final = 1
_SOME: Final = 2000
"""Calls that are sent together: what is read of all at once takes as much memory again."""
_SHORT: Final = 24
"""Characters up to which a word that calls hold beyond their figures is looked for among those of others."""


def _unpacked(piece: bytes) -> bytes:
    """A piece of a tree. Several threads look at a tree, and what unpacks serves one of them: each has its own."""
    own = getattr(_unpackers, "own", None)
    if own is None:
        own = _unpackers.own = zstandard.ZstdDecompressor()
    found: bytes = own.decompress(piece)
    return found


_unpackers: Final = threading.local()


@dataclass(frozen=True, slots=True, kw_only=True)
class SentReading:
    """A recording as it was read: its tree, its session without that and without calls, these some at a time, how far
    its files were read, and what is incomplete at their ends."""

    tree: PackedTree
    session: bytes
    calls: list[bytes]
    head: bytes
    found: bool
    id: str
    lines: int
    main: Tail
    parts: tuple[tuple[Path, Tail, float], ...]
    tails: tuple[Skipped, ...]


class ReadingProcess(Protocol):
    """A process that reads the same recording (`services.workers.study_worker`). Each raises `ChildGone`."""

    def bytes_read(self) -> int | None:
        """Let it read for a moment: how many bytes it has read; None once that is all there is."""

    def reading(self) -> SentReading | None:
        """What it read; None where that cannot be sent."""

    def readers(self) -> bytes | None:
        """Where its readers stand (`sent_readers`)."""

    def close(self) -> None:
        """End it."""


def _calls_of(found: SentReading) -> dict[str, Call]:
    """The calls that were sent; what they were sent as is given away with each."""
    calls: dict[str, Call] = {}
    words: dict[str, str] = {}
    while found.calls:
        for call in pickle.loads(zstandard.decompress(found.calls.pop())):
            for name, value in call.extra.items():
                if type(value) is str and len(value) < _SHORT:
                    # The same few words stand in every call: each is kept once.
                    call.extra[name] = words.setdefault(value, value)
            calls[call.id] = call
    return calls


def sent(loaded: Loaded) -> SentReading | None:
    """What was read of a recording that is one file with its companions; None of any other one, and where it cannot be
    written down."""
    reading = loaded.plain_reading
    if reading is None or reading.main is None:
        return None
    session, packer = reading.session, zstandard.ZstdCompressor(level=_LEVEL).compress
    tree = pack(session.tree, packer)
    if tree is None:
        return None
    calls = list(session.calls.values())
    try:
        without = pickle.dumps(replace(session, tree=Tree(), calls={}), pickle.HIGHEST_PROTOCOL)
        some = [calls[at : at + _SOME] for at in range(0, len(calls), _SOME)]
        # The last ones first: that is how they are taken from the list.
        packed = [packer(pickle.dumps(few, pickle.HIGHEST_PROTOCOL)) for few in reversed(some)]
    except (pickle.PicklingError, AttributeError, TypeError, RecursionError):
        return None
    return SentReading(
        tree=tree,
        session=without,
        calls=packed,
        head=reading.head,
        found=reading.found,
        id=reading.id,
        lines=reading.lines,
        main=reading.main,
        parts=tuple((path, part.tail, part.heard) for path, part in reading.parts.items()),
        tails=tuple(reading.tails()),
    )


def sent_readers(loaded: Loaded, blocks: int) -> bytes | None:
    """Where the readers of a recording stand, of which `blocks` blocks were sent; None where that cannot be written
    down."""
    reading = loaded.plain_reading
    if reading is None:
        return None
    readers = [reading.reader, *(part.reader for part in reading.parts.values())]
    state = state_of(readers, reading.session.tree, blocks)
    return None if state is None else zstandard.ZstdCompressor(level=_LEVEL).compress(state)


class ReadElsewhere(Loaded):
    """A recording that `process` reads. `begun` is the recording with nothing read yet, `pieces` its first reading,
    which is done here where the process ends before its time."""

    def __init__(self, begun: Loaded, pieces: Iterator[RecordingNews], process: ReadingProcess) -> None:
        super().__init__(begun.session, begun.name, begun.path, begun.plain_reading)
        self._here = pieces
        self._process = process
        self._elsewhere = 0
        """Bytes that the other process has read."""
        self._came: Session | None = None
        """What it found, until it is taken."""
        self._sent: SentReading | None = None
        """What it found, until a reader here has taken it up."""

    @property
    def taken_over(self) -> bool:
        """Whether what was read is what the other process found, and nothing else."""
        return self._sent is not None

    @property
    def bytes_read(self) -> int:
        """As of every recording."""
        return self._elsewhere or super().bytes_read

    @property
    def skipped(self) -> list[Skipped]:
        """As of every recording."""
        return super().skipped if self._sent is None else [*self.session.skipped, *self._sent.tails]

    def pieces(self) -> Iterator[RecordingNews]:
        """The first reading: how far it is, then all of it."""
        free_memory.expect_large_pieces()
        try:
            while (read := self._process.bytes_read()) is not None:
                self._elsewhere = read
                yield RecordingNews()
            found = self._process.reading()
        except ChildGone:
            # Nobody asks it for anything else any more.
            self._process.close()
            found = None
        self._elsewhere = 0
        if found is None:
            yield from self._here
            return
        calls: dict[str, Call] = _calls_of(found)
        session: Session = pickle.loads(found.session)
        session.calls.update(calls)
        self._begin_from(found)
        self._came = session
        free_memory.give_back()
        yield RecordingNews()

    def _begin_from(self, found: SentReading) -> None:
        """The reading is where the other process left it: that is so before the screen takes what came of it."""
        reading = self._reading
        assert reading is not None
        unpack_into(reading.session.tree, found.tree, _unpacked)
        reading.head, reading.id, reading.lines, reading.found = found.head, found.id, found.lines, found.found
        reading.main = found.main
        for path, tail, heard in found.parts:
            reading.parts[path] = CompanionPart(tail, reading.reader.part(path.name), heard)
        # Its columns are the tree's by now.
        self._sent = replace(found, session=b"")

    def take(self, news: RecordingNews) -> list[Event]:
        """As of every recording."""
        session, self._came = self._came, None
        if session is not None:
            self._take_over(session)
        return super().take(news)

    def _take_over(self, session: Session) -> None:
        own = self._session
        # Threads last of all: whoever looks meanwhile finds one only when its calls are there.
        own.about, own.skipped, own.happenings = session.about, session.skipped, session.happenings
        own.outcomes, own.quotas = session.outcomes, session.quotas
        own.calls.update(session.calls)
        # The ids of calls are kept once.
        own.order.update({thread: [own.calls[id_].id for id_ in ids] for thread, ids in session.order.items()})
        own.threads.update(session.threads)

    def fetch(self) -> RecordingNews:
        """As of every recording."""
        reading, sent = self._reading, self._sent
        if sent is None or reading is None or reading.main is None:
            return super().fetch()
        change = reading.main.look()
        self.gone = change == FileChange.GONE
        if change == FileChange.NONE and not self._parts_moved(reading):
            return RecordingNews()
        if change == FileChange.GONE:
            return RecordingNews()
        if change == FileChange.REWRITTEN or not (self._gone_on(reading, sent) or _taken_up(reading, sent)):
            self._sent = None
            return self._restart(reading)
        self._sent = None
        return super().fetch()

    def _gone_on(self, reading: FirstReading, sent: SentReading) -> bool:
        """Let the readers of the other process go on here; whether they could be had."""
        try:
            state = self._process.readers()
        except ChildGone:
            return False
        if state is None:
            return False
        reading.reader, *others = readers_from(zstandard.decompress(state), reading.session.tree)
        for (path, _, _), reader in zip(sent.parts, others, strict=True):
            reading.parts[path].reader = reader
        return True

    def _parts_moved(self, reading: FirstReading) -> bool:
        """Whether a companion file is another one than it was, or there is a new one."""
        if reading.changes(time.monotonic(), True):
            return True
        if reading.folders is None or not reading.folders.changed():
            return False
        new = bool(reading.new_companions())
        # Whoever reads on looks for them as well.
        reading.folders.sure = reading.folders.sure and not new
        return new


def _taken_up(reading: FirstReading, sent: SentReading) -> bool:
    """Let the reader read what the other process has read, and nothing else; whether it found the same. What it tells
    is known."""
    nodes = len(reading.session.tree)
    try:
        whole = _feed(reading.reader, sent.main)
        if reading.form.bodies:
            whole = _feed_parts(reading) and whole
        reading.reader.settle()
        if not reading.form.bodies:
            whole = _feed_parts(reading) and whole
    except OSError:
        # A file went meanwhile.
        return False
    return whole and len(reading.session.tree) == nodes


def _feed_parts(reading: FirstReading) -> bool:
    whole = True
    for part in reading.parts.values():
        whole = _feed(part.reader, part.tail) and whole
        part.reader.settle()
    if reading.parts:
        reading.reader.settle()
    return whole


def _feed(reader: Reader, tail: Tail) -> bool:
    """Give `reader` what was read of a file; whether all of it is still there."""
    left = tail.offset
    with tail.path.open("rb", buffering=0) as file:
        while left and (piece := file.read(min(left, SLICE))):
            reader.feed(piece)
            left -= len(piece)
    return not left
