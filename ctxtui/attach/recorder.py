"""Records exchanges between a client and its provider, in a thread of its own.

The relay calls `put` with each event, which only queues it. The thread collects events, unpacks, masks keys, finds the
session and writes lines. `put` itself makes the line of a single piece of an answer, after it was passed on: in the
thread, pieces would be processed together, and delay the next one. Faults are reported at the end of the run and never
reach a request.
"""

from __future__ import annotations

import hashlib
import itertools
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from ctxtui.attach.lines import encode_answer_line, encode_line, mask_fields, mask_for, mask_url
from ctxtui.attach.news import (
    AnswerBegun,
    AnswerBytes,
    ExchangeEnded,
    ExchangeEvent,
    RequestBegun,
    RequestBytes,
    RequestHeld,
    RequestSent,
    SocketMessage,
)
from ctxtui.attach.run import RecordedRun, new_run, session_of
from ctxtui.attach.tape import Tape, file_name
from ctxtui.core.canonical import Json
from ctxtui.core.errors import Malformed
from ctxtui.transcripts.kit.http_exchange.line_kinds import MARK, VERSION
from ctxtui.transcripts.kit.http_exchange.pair import Sender, identify_sender
from ctxtui.wire.bounds import MAX_BODY, MAX_UNWRITTEN
from ctxtui.wire.key_mask import KeyMask
from ctxtui.wire.unpacking import BodyUnpacker, make_unpacker

if TYPE_CHECKING:
    from hashlib import _Hash

_OPEN_FILES: Final = 64
_MAX_KEPT_BYTES: Final = 128 << 20
"""Maximum bytes of bodies kept over all sessions, for comparison with later ones."""
_MAX_WAITING_BYTES: Final = 4 << 20
"""Bytes of lines waiting for a file at which they are written at once."""
_MAX_INLINE_WAITING_BYTES: Final = 1 << 20
"""Bytes of lines waiting for a file below which callers may add lines themselves."""


class _Recorded(Struct, kw_only=True):
    begun: RequestBegun
    mask: KeyMask
    headers: Mapping[str, str]
    asked: bytearray = field(default_factory=bytearray)
    """The received part of the request's body, if kept."""
    asked_size: int = 0
    asked_wire: _Hash = field(default_factory=hashlib.sha256)
    """Digest of a body that is not kept."""
    session: str = ""
    tape: Tape | None = None
    unpacker: BodyUnpacker | None = None
    packed: bool = False
    """Whether its answer cannot be unpacked and is kept as received."""
    held: bytes = b""
    size: int = 0
    wire: _Hash = field(default_factory=hashlib.sha256)
    """Digest of the answer's bytes."""


class Tapes:
    """The files of a run. Lines made by `record` are in them after the next `flush`.

    Callers of `record`, `discard` or `has_room` hold the lock `hand`; only one thread calls `flush` and `close`, which
    write without it.
    """

    def __init__(self, run: RecordedRun) -> None:
        self.exchanges = 0
        """Number of recorded exchanges so far."""
        self.hand = threading.Lock()
        """Held while lines are made and taken out, never while they are written."""
        self._run = run
        self._ended_now = 0
        self._open: dict[str, _Recorded] = {}
        self._tapes: dict[str, Tape] = {}
        self._in_use: OrderedDict[str, Tape] = OrderedDict()
        """Those whose files may be open, the longest unused first."""
        self._waiting: dict[str, Tape] = {}
        """Those with lines that wait, by their sessions."""

    @property
    def files(self) -> list[Path]:
        """The written recordings."""
        return [tape.path for tape in list(self._tapes.values())]

    @property
    def troubles(self) -> list[str]:
        """Descriptions of what could not be written."""
        tapes = list(self._tapes.values())
        return [f"{tape.path}: {tape.lost} lines not written: {tape.why}" for tape in tapes if tape.lost]

    def flush(self) -> None:
        """Write waiting lines."""
        while True:
            with self.hand:
                tape = self._waiting.popitem()[1] if self._waiting else None
                lines = tape.take_lines() if tape is not None else []
            if tape is None:
                break
            tape.write(lines)
        self.exchanges += self._ended_now
        self._ended_now = 0

    def close(self) -> None:
        """Close all files."""
        for tape in self._in_use.values():
            tape.close()

    def is_open(self, x: str) -> bool:
        """Whether an exchange is open."""
        return x in self._open

    def has_room(self, x: str) -> bool:
        """Whether a line of an open exchange can be added to a file in use without side effects."""
        one = self._open.get(x)
        return (
            one is not None
            and one.tape is not None
            and one.session in self._in_use
            and one.tape.size < _MAX_INLINE_WAITING_BYTES
        )

    def discard(self, x: str) -> None:
        """Stop recording an exchange."""
        self._open.pop(x, None)

    def drop(self) -> None:
        """Discard waiting lines whose state is unknown."""
        self._waiting.clear()
        self._ended_now = 0
        for tape in self._in_use.values():
            tape.drop()

    def reset_after_fork(self) -> None:
        """Reset in a child process after a fork: waiting lines and the bodies belong to the parent."""
        self.hand = threading.Lock()
        self._open.clear()
        self.drop()

    def record(self, news: ExchangeEvent) -> None:
        """Record an event."""
        if isinstance(news, RequestBegun):
            headers = {name.lower(): text for name, text in news.fields}
            self._open[news.x] = _Recorded(begun=news, mask=mask_for(news.fields), headers=headers)
            return
        one = self._open.get(news.x)
        if one is None:
            return
        if isinstance(news, RequestBytes):
            one.asked_size += len(news.data)
            if one.asked_size <= MAX_BODY:
                one.asked += news.data
            else:
                one.asked_wire.update(one.asked)
                one.asked_wire.update(news.data)
                one.asked.clear()
            if news.last:
                self._asked(one)
            return
        if one.tape is None:
            # Answered before the request was complete.
            self._asked(one)
        if isinstance(news, AnswerBegun):
            self._answered(one, news)
        elif isinstance(news, AnswerBytes):
            self._said(one, news)
        elif isinstance(news, RequestSent):
            self._sent(one, news)
        elif isinstance(news, RequestHeld):
            self._write(one, encode_line(x=news.x, at=news.at, held=news.why, until=news.until))
        elif isinstance(news, SocketMessage):
            told = one.mask.mask_text(news.text)
            self._write(one, encode_line(x=news.x, at=news.at, frame=told, by="client" if news.by_client else "server"))
        else:
            self._ended(one, news)

    def _asked(self, one: _Recorded) -> None:
        left_out = one.asked_size > MAX_BODY
        begun, wire = one.begun, b"" if left_out else bytes(one.asked)
        one.asked.clear()
        encoding = one.headers.get("content-encoding", "")
        try:
            said = make_unpacker(encoding).feed(wire)
        except Malformed:
            said = wire
        sender = identify_sender(one.headers)
        session = begun.session or sender.session or self._run.session or session_of(begun.url, said)
        one.session, one.tape = session, self._tape(session, sender)
        if left_out:
            body: dict[str, Json] = {"size": one.asked_size, "sha256": one.asked_wire.hexdigest(), "left_out": True}
        else:
            body = one.tape.bodies.encode(begun.x, one.mask.mask_bytes(said), wire, encoding)
        asked: dict[str, Json] = {
            "method": begun.method,
            "url": mask_url(begun.url),
            "headers": mask_fields(begun.fields),
        }
        if begun.thread:
            asked["thread"] = begun.thread
        self._write(one, encode_line(x=begun.x, at=begun.at, asked={**asked, "body": body}))

    def _sent(self, one: _Recorded, news: RequestSent) -> None:
        told = dict(news.told)
        if news.body is not None and one.tape is not None:
            body = one.mask.mask_bytes(news.body)
            told["body"] = one.tape.sent.encode(news.x, body, news.body, "")
        self._write(one, encode_line(x=news.x, at=news.at, sent=told))

    def _answered(self, one: _Recorded, news: AnswerBegun) -> None:
        encoding = next((text for name, text in news.fields if name.lower() == "content-encoding"), "")
        try:
            one.unpacker = make_unpacker(encoding)
        except Malformed:
            one.packed = True
        self._write(
            one,
            encode_line(x=news.x, at=news.at, answered={"status": news.status, "headers": mask_fields(news.fields)}),
        )

    def _said(self, one: _Recorded, news: AnswerBytes) -> None:
        one.size += len(news.data)
        one.wire.update(news.data)
        data = news.data
        if one.unpacker is not None and not one.packed:
            try:
                data = one.unpacker.feed(data)
            except Malformed:
                one.packed = True
        told, one.held = one.mask.split_safe(one.held + data)
        told, rest = _whole_characters(told)
        one.held = rest + one.held
        if told:
            self._write(one, encode_answer_line(news.x, news.at, told))

    def _ended(self, one: _Recorded, news: ExchangeEnded) -> None:
        if one.held:
            self._write(one, encode_answer_line(news.x, news.at, one.mask.mask_bytes(one.held)))
        size = {"size": one.size, "sha256": one.wire.hexdigest()} if one.size else {}
        self._write(one, encode_line(x=news.x, at=news.at, ended=True, error=one.mask.mask_text(news.error), **size))
        del self._open[news.x]
        self._ended_now += 1

    def _write(self, one: _Recorded, data: bytes) -> None:
        tape = one.tape
        if tape is not None:
            if one.session not in self._in_use:
                self._use(one.session, tape)
            tape.add(data)
            if tape.size > _MAX_WAITING_BYTES:
                tape.flush()
            else:
                self._waiting[one.session] = tape

    def _tape(self, session: str, sender: Sender) -> Tape:
        known = self._tapes.get(session)
        if known is None:
            run = self._run
            head = encode_line(
                **{MARK: VERSION},
                run=run.run,
                at=run.clock(),
                session=session,
                client=sender.client,
                version=sender.version,
                program=run.program,
                cwd=run.cwd,
                tags=list(run.tags),
                upstreams=dict(run.upstreams),
            )
            known = self._tapes[session] = Tape(run.folder / file_name(session), lambda: head)
        self._use(session, known)
        return known

    def _use(self, session: str, tape: Tape) -> None:
        self._in_use[session] = tape
        self._in_use.move_to_end(session)
        kept = sum(one.kept_bytes for one in self._in_use.values())
        for one in self._in_use.values():
            if kept <= _MAX_KEPT_BYTES:
                break
            kept -= one.kept_bytes
            one.forget_bodies()
        if len(self._in_use) > _OPEN_FILES:
            # It opens again when needed.
            name, unused = self._in_use.popitem(last=False)
            self._waiting.pop(name, None)
            unused.close()


def _whole_characters(data: bytes) -> tuple[bytes, bytes]:
    """`data` up to its last complete UTF-8 character, and the rest."""
    for n in range(1, min(4, len(data)) + 1):
        lead = data[-n]
        if lead & 0xC0 == 0x80:
            continue
        wants = 1 if lead < 0x80 else 2 if lead >> 5 == 6 else 3 if lead >> 4 == 14 else 4 if lead >> 3 == 30 else 1
        return (data[:-n], data[-n:]) if wants > n else (data, b"")
    return data, b""


_MAX_REPORTED_FAULTS: Final = 10
"""Maximum faults that are reported individually."""
_GATHER_S: Final = 0.03
"""Seconds for which events are gathered before they are written; a killed process loses at most that much."""
_MAX_INLINE_BYTES: Final = 1 << 12
"""Maximum bytes of a piece of an answer whose line `put` makes."""
_MIN_GAP_S: Final = 0.0005
"""Seconds since the previous piece from which a piece counts as single.

Bursts are left to the thread, which takes a fifth of the time for each of many pieces.
"""
_MAX_EMPTY_POLLS: Final = 150
"""Consecutive empty polls after which the thread sleeps until it is woken."""


class Recorder:
    """Records a run. `put` may be called from any thread."""

    def __init__(self, run: RecordedRun) -> None:
        self._tapes = Tapes(run)
        self._queue: deque[ExchangeEvent] = deque()
        self._wake = threading.Event()
        self._asleep = False
        """Whether the thread has to be told that something came. It is not each time: to wake a thread takes longer
        than all that is done about a piece of an answer."""
        self._stop = False
        self._in_hand: set[str] = set()
        """Exchanges of which something was taken that waits to be written."""
        self._writing: set[str] = set()
        """Those of which something is being written."""
        self._heard = 0.0
        """When a piece of an answer came last (Unix seconds)."""
        self._reviving = threading.Lock()
        self._came = self._done = 0
        """Bytes that were put, and those of them that have been taken."""
        self._dropped: set[str] = set()
        self._faults: list[str] = []
        self._prefix = run.run
        self._numbers = itertools.count(1)
        self.faults = 0
        """Exchanges that were lost to faults of the recorder."""
        self.closed = False
        """Whether it was told to close."""
        self._begin()

    def _begin(self) -> None:
        self._thread = threading.Thread(target=self._work, name="ctxtui recorder", daemon=True)
        self._thread.start()

    def next_name(self) -> str:
        """A unique name for an exchange."""
        return f"{self._prefix}.{next(self._numbers)}"

    def reset_after_fork(self) -> None:
        """Reset in a child process after a fork: waiting events belong to the parent, whose thread is not here."""
        self._queue.clear()
        self._in_hand, self._writing = set(), set()
        self._wake, self._asleep, self._came, self._done = threading.Event(), False, 0, 0
        self._prefix = new_run()
        self._tapes.reset_after_fork()
        self._begin()

    def put(self, news: ExchangeEvent) -> None:
        """Queue an event. Never raises, never waits."""
        if not self._thread.is_alive():
            self._revive()
        if not isinstance(news, AnswerBytes) or not self._record_inline(news):
            size = _size(news)
            if size and self._came - self._done > MAX_UNWRITTEN:
                self._dropped.add(news.x)
                return
            self._came += size
            self._queue.append(news)
        # A head alone is no line yet, and the request is not sent.
        if self._asleep and not isinstance(news, RequestBegun):
            self._wake.set()

    def _record_inline(self, news: AnswerBytes) -> bool:
        """Make its line here if that is as fast as waking the thread; returns whether it was made."""
        hand = self._tapes.hand
        apart, self._heard = news.at - self._heard, news.at
        if apart < _MIN_GAP_S or self._queue or len(news.data) > _MAX_INLINE_BYTES or not hand.acquire(blocking=False):
            return False
        try:
            # Another thread may have queued something meanwhile, and the recorder's thread takes nothing now.
            found = not self._queue and self._tapes.has_room(news.x)
            if found:
                self._take(news)
            return found
        finally:
            hand.release()

    def _take(self, news: ExchangeEvent) -> None:
        """Make lines of an event; the caller holds the lock."""
        if isinstance(news, RequestBegun) or self._tapes.is_open(news.x):
            self._in_hand.add(news.x)
        try:
            self._tapes.record(news)
        except Exception as error:  # noqa: BLE001 - the boundary: a fault here must not reach a request
            self._fault(news.x, error)

    def _revive(self) -> None:
        """Start another thread if the first one ended. Its current work is lost, and reported."""
        with self._reviving:
            if self._thread.is_alive() or self._stop:
                return
            self._lose(RuntimeError("its thread ended"))
            self._begin()

    def _lose(self, error: Exception) -> None:
        """Discard work in an unknown state."""
        with self._tapes.hand:
            lost = self._in_hand | self._writing
            self._in_hand, self._writing = set(), set()
            self._tapes.drop()
            for x in lost:
                self._fault(x, error)

    def close(self, seconds: float = 5.0) -> None:
        """Write what waits, for at most `seconds`."""
        self._stop = self.closed = True
        self._wake.set()
        self._thread.join(seconds)
        if self._thread.is_alive():
            self._faults.append(f"{len(self._queue)} entries still waited for the disk when ctxtui ended")

    def flush(self, seconds: float = 5.0) -> bool:
        """Wait until everything is written; returns whether it was within `seconds`."""
        limit = time.monotonic() + seconds
        # In the order of processing: it is in none of them only when written.
        while self._queue or self._in_hand or self._writing:
            if time.monotonic() > limit:
                return False
            if not self._thread.is_alive():
                self._revive()
            self._wake.set()
            time.sleep(0.002)
        return True

    @property
    def exchanges(self) -> int:
        """Number of recorded exchanges so far."""
        return self._tapes.exchanges

    @property
    def files(self) -> list[Path]:
        """The written recordings."""
        return self._tapes.files

    @property
    def troubles(self) -> list[str]:
        """Descriptions of what could not be recorded."""
        dropped = (
            [f"{len(self._dropped)} exchanges not recorded: too much waited for the disk"] if self._dropped else []
        )
        more = (
            [f"{self.faults - _MAX_REPORTED_FAULTS} more exchanges lost so"]
            if self.faults > _MAX_REPORTED_FAULTS
            else []
        )
        return [*self._tapes.troubles, *dropped, *self._faults, *more]

    def _work(self) -> None:
        while True:
            self._wait_for_work()
            for _ in range(len(self._queue)):
                with self._tapes.hand:
                    news = self._queue[0]
                    self._take(news)
                    # Only once it is in hand: an empty queue means that everything is in hand or written.
                    self._queue.popleft()
                self._done += _size(news)
            self._flush_tapes()
            if not self._waits:
                # Several threads count: reset, so that errors do not accumulate.
                self._done = self._came
                if self._stop:
                    break
        self._tapes.close()

    @property
    def _waits(self) -> bool:
        return bool(self._queue or self._in_hand)

    def _wait_for_work(self) -> None:
        """Wait until there is something to write, and more has been gathered."""
        looks = 0
        while not self._stop:
            self._asleep = looks > _MAX_EMPTY_POLLS
            if self._asleep and not self._waits:
                self._wake.wait()
                self._wake.clear()
            self._asleep = False
            self._wake.wait(_GATHER_S)
            self._wake.clear()
            if self._waits:
                break
            looks += 1

    def _flush_tapes(self) -> None:
        with self._tapes.hand:
            self._writing, self._in_hand = self._in_hand, set()
        try:
            self._tapes.flush()
        except Exception as error:  # noqa: BLE001 - the boundary: a fault here must not reach a request
            self._lose(error)
        self._writing = set()

    def _fault(self, x: str, error: Exception) -> None:
        self._tapes.discard(x)
        self.faults += 1
        if self.faults <= _MAX_REPORTED_FAULTS:
            self._faults.append(f"a fault in ctxtui's recorder: {type(error).__name__}: {error}")


def _size(news: ExchangeEvent) -> int:
    """Size of an event's data in bytes, if it may be large."""
    if isinstance(news, RequestBytes | AnswerBytes):
        return len(news.data)
    if isinstance(news, SocketMessage):
        return len(news.text)
    return len(news.body or b"") if isinstance(news, RequestSent) else 0
