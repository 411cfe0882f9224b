"""Writes down what goes between a client and its provider, in a thread of its own: nobody waits for it.

Whoever passes bytes on calls `put` with what happened; it only queues. The thread looks for what came, unpacks, keeps
keys out, finds the session and writes lines. A piece of an answer that comes by itself is made a line of by `put`,
which is called behind its being passed on: left to the thread, all pieces of some time are done together, and keep
the next one waiting that comes just then. A fault of it is told when the run ends and never reaches a request."""

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

from ctxtui.attach.lines import answer_line, line, mask_for, shown, shown_url
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
from ctxtui.transcripts.kit.http_exchange.pair import Sender, sender_of
from ctxtui.wire.bounds import MAX_BODY, MAX_UNWRITTEN
from ctxtui.wire.key_mask import KeyMask
from ctxtui.wire.unpacking import BodyUnpacker, make_unpacker

if TYPE_CHECKING:
    from hashlib import _Hash

_OPEN_FILES: Final = 64
_MOST_KEPT: Final = 128 << 20
"""Bytes of bodies that are kept of all sessions, so that later ones are told by them."""
_MOST_WAITING: Final = 4 << 20
"""Bytes of lines that wait for a file before they are written whatever else comes."""
_ROOM: Final = 1 << 20
"""Bytes of lines that wait for a file below which others are added by whoever has them."""


class _Recorded(Struct, kw_only=True):
    begun: RequestBegun
    mask: KeyMask
    headers: Mapping[str, str]
    asked: bytearray = field(default_factory=bytearray)
    """The request's body, as far as it came and is kept."""
    asked_size: int = 0
    asked_wire: _Hash = field(default_factory=hashlib.sha256)
    """What proves a body that is not kept."""
    session: str = ""
    tape: Tape | None = None
    unpacker: BodyUnpacker | None = None
    packed: bool = False
    """Whether its answer cannot be unpacked: it is kept as it came."""
    held: bytes = b""
    size: int = 0
    wire: _Hash = field(default_factory=hashlib.sha256)
    """What proves the answer's bytes."""


class Tapes:
    """The files of a run. What `take` makes of an event is in them after the next `flush`. Whoever calls `take`, `drop`
    or `has_room` holds the `hand`; one thread alone calls `flush` and `close`, which write without it."""

    def __init__(self, run: RecordedRun) -> None:
        self.exchanges = 0
        """Exchanges that were written down so far."""
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
        """The recordings that were written."""
        return [tape.path for tape in list(self._tapes.values())]

    @property
    def troubles(self) -> list[str]:
        """What could not be written, in words."""
        tapes = list(self._tapes.values())
        return [f"{tape.path}: {tape.lost} lines not written: {tape.why}" for tape in tapes if tape.lost]

    def flush(self) -> None:
        """Write what waits."""
        while True:
            with self.hand:
                tape = self._waiting.popitem()[1] if self._waiting else None
                lines = tape.taken() if tape is not None else []
            if tape is None:
                break
            tape.write(lines)
        self.exchanges += self._ended_now
        self._ended_now = 0

    def close(self) -> None:
        """Nothing more comes."""
        for tape in self._in_use.values():
            tape.close()

    def knows(self, x: str) -> bool:
        """Whether an exchange has begun, and goes on."""
        return x in self._open

    def has_room(self, x: str) -> bool:
        """Whether a line of an exchange that goes on is added to a file in use, and causes nothing else."""
        one = self._open.get(x)
        return one is not None and one.tape is not None and one.session in self._in_use and one.tape.size < _ROOM

    def forget(self, x: str) -> None:
        """Nothing more of an exchange is written."""
        self._open.pop(x, None)

    def drop(self) -> None:
        """Nobody knows what became of the lines that waited."""
        self._waiting.clear()
        self._ended_now = 0
        for tape in self._in_use.values():
            tape.drop()

    def begin_anew(self) -> None:
        """In a child process after a fork: what waited is the parent's to write, who goes on from its bodies."""
        self.hand = threading.Lock()
        self._open.clear()
        self.drop()

    def take(self, news: ExchangeEvent) -> None:
        """Something happened."""
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
            # Answered before it was asked to the end.
            self._asked(one)
        if isinstance(news, AnswerBegun):
            self._answered(one, news)
        elif isinstance(news, AnswerBytes):
            self._said(one, news)
        elif isinstance(news, RequestSent):
            self._sent(one, news)
        elif isinstance(news, RequestHeld):
            self._write(one, line(x=news.x, at=news.at, held=news.why, until=news.until))
        elif isinstance(news, SocketMessage):
            told = one.mask.mask_text(news.text)
            self._write(one, line(x=news.x, at=news.at, frame=told, by="client" if news.by_client else "server"))
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
        sender = sender_of(one.headers)
        session = begun.session or sender.session or self._run.session or session_of(begun.url, said)
        one.session, one.tape = session, self._tape(session, sender)
        if left_out:
            body: dict[str, Json] = {"size": one.asked_size, "sha256": one.asked_wire.hexdigest(), "left_out": True}
        else:
            body = one.tape.bodies.told(begun.x, one.mask.mask_bytes(said), wire, encoding)
        asked: dict[str, Json] = {"method": begun.method, "url": shown_url(begun.url), "headers": shown(begun.fields)}
        if begun.thread:
            asked["thread"] = begun.thread
        self._write(one, line(x=begun.x, at=begun.at, asked={**asked, "body": body}))

    def _sent(self, one: _Recorded, news: RequestSent) -> None:
        told = dict(news.told)
        if news.body is not None and one.tape is not None:
            body = one.mask.mask_bytes(news.body)
            told["body"] = one.tape.sent.told(news.x, body, news.body, "")
        self._write(one, line(x=news.x, at=news.at, sent=told))

    def _answered(self, one: _Recorded, news: AnswerBegun) -> None:
        encoding = next((text for name, text in news.fields if name.lower() == "content-encoding"), "")
        try:
            one.unpacker = make_unpacker(encoding)
        except Malformed:
            one.packed = True
        self._write(one, line(x=news.x, at=news.at, answered={"status": news.status, "headers": shown(news.fields)}))

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
            self._write(one, answer_line(news.x, news.at, told))

    def _ended(self, one: _Recorded, news: ExchangeEnded) -> None:
        if one.held:
            self._write(one, answer_line(news.x, news.at, one.mask.mask_bytes(one.held)))
        size = {"size": one.size, "sha256": one.wire.hexdigest()} if one.size else {}
        self._write(one, line(x=news.x, at=news.at, ended=True, error=one.mask.mask_text(news.error), **size))
        del self._open[news.x]
        self._ended_now += 1

    def _write(self, one: _Recorded, data: bytes) -> None:
        tape = one.tape
        if tape is not None:
            if one.session not in self._in_use:
                self._use(one.session, tape)
            tape.add(data)
            if tape.size > _MOST_WAITING:
                tape.flush()
            else:
                self._waiting[one.session] = tape

    def _tape(self, session: str, sender: Sender) -> Tape:
        known = self._tapes.get(session)
        if known is None:
            run = self._run
            head = line(
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
        kept = sum(one.kept for one in self._in_use.values())
        for one in self._in_use.values():
            if kept <= _MOST_KEPT:
                break
            kept -= one.kept
            one.forget_bodies()
        if len(self._in_use) > _OPEN_FILES:
            # It opens again when it is needed.
            name, unused = self._in_use.popitem(last=False)
            self._waiting.pop(name, None)
            unused.close()


def _whole_characters(data: bytes) -> tuple[bytes, bytes]:
    """`data` up to its last whole character of UTF-8, and the rest."""
    for n in range(1, min(4, len(data)) + 1):
        lead = data[-n]
        if lead & 0xC0 == 0x80:
            continue
        wants = 1 if lead < 0x80 else 2 if lead >> 5 == 6 else 3 if lead >> 4 == 14 else 4 if lead >> 3 == 30 else 1
        return (data[:-n], data[-n:]) if wants > n else (data, b"")
    return data, b""


_MOST_TOLD: Final = 10
"""Faults that are told one by one."""
_GATHER: Final = 0.03
"""Seconds for which what comes is gathered before it is written; so much a killed process loses at most."""
_SHORT: Final = 1 << 12
"""Bytes of a piece of an answer up to which `put` makes its line."""
_APART: Final = 0.0005
"""Seconds after the one before it from which a piece of an answer comes by itself: a burst is left to the thread, which
takes a fifth of the time for each of many pieces."""
_LOOKS: Final = 150
"""Looks for something to write, one after the other in vain, after which the thread sleeps until it is told."""


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
        """A name for an exchange that no other one has."""
        return f"{self._prefix}.{next(self._numbers)}"

    def begin_anew(self) -> None:
        """In a child process after a fork: what waited is the parent's to write; the thread is only there."""
        self._queue.clear()
        self._in_hand, self._writing = set(), set()
        self._wake, self._asleep, self._came, self._done = threading.Event(), False, 0, 0
        self._prefix = new_run()
        self._tapes.begin_anew()
        self._begin()

    def put(self, news: ExchangeEvent) -> None:
        """Something happened. Never raises, never waits."""
        if not self._thread.is_alive():
            self._revive()
        if not isinstance(news, AnswerBytes) or not self._at_once(news):
            size = _size(news)
            if size and self._came - self._done > MAX_UNWRITTEN:
                self._dropped.add(news.x)
                return
            self._came += size
            self._queue.append(news)
        # A head alone is no line yet, and the request has not left.
        if self._asleep and not isinstance(news, RequestBegun):
            self._wake.set()

    def _at_once(self, news: AnswerBytes) -> bool:
        """Make a line of it here, where that takes no longer than to tell the thread; whether it was."""
        hand = self._tapes.hand
        apart, self._heard = news.at - self._heard, news.at
        if apart < _APART or self._queue or len(news.data) > _SHORT or not hand.acquire(blocking=False):
            return False
        try:
            # Something may have come from another thread meanwhile, and the thread takes nothing now.
            found = not self._queue and self._tapes.has_room(news.x)
            if found:
                self._take(news)
            return found
        finally:
            hand.release()

    def _take(self, news: ExchangeEvent) -> None:
        """Make lines of it; by whoever holds the hand."""
        if isinstance(news, RequestBegun) or self._tapes.knows(news.x):
            self._in_hand.add(news.x)
        try:
            self._tapes.take(news)
        except Exception as error:  # noqa: BLE001 - the boundary: a fault here must not reach a request
            self._fault(news.x, error)

    def _revive(self) -> None:
        """The thread is gone, whatever ended it: another one goes on. What the first had in hand is lost, and told."""
        with self._reviving:
            if self._thread.is_alive() or self._stop:
                return
            self._lose(RuntimeError("its thread ended"))
            self._begin()

    def _lose(self, error: Exception) -> None:
        """Nobody knows what became of what was in hand."""
        with self._tapes.hand:
            lost = self._in_hand | self._writing
            self._in_hand, self._writing = set(), set()
            self._tapes.drop()
            for x in lost:
                self._fault(x, error)

    def close(self, seconds: float = 5.0) -> None:
        """Write what waits, for at most so many seconds."""
        self._stop = self.closed = True
        self._wake.set()
        self._thread.join(seconds)
        if self._thread.is_alive():
            self._faults.append(f"{len(self._queue)} entries still waited for the disk when ctxtui ended")

    def flush(self, seconds: float = 5.0) -> bool:
        """Wait until everything that was put is written; whether it was within so many seconds."""
        limit = time.monotonic() + seconds
        # In the order in which it goes from one to the next: it is in none of them only once it is written.
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
        """Exchanges that were written down so far."""
        return self._tapes.exchanges

    @property
    def files(self) -> list[Path]:
        """The recordings that were written."""
        return self._tapes.files

    @property
    def troubles(self) -> list[str]:
        """What could not be recorded, in words."""
        dropped = (
            [f"{len(self._dropped)} exchanges not recorded: too much waited for the disk"] if self._dropped else []
        )
        more = [f"{self.faults - _MOST_TOLD} more exchanges lost so"] if self.faults > _MOST_TOLD else []
        return [*self._tapes.troubles, *dropped, *self._faults, *more]

    def _work(self) -> None:
        while True:
            self._rest()
            for _ in range(len(self._queue)):
                with self._tapes.hand:
                    news = self._queue[0]
                    self._take(news)
                    # Once it is in hand: who waits for an empty queue waits for what is written.
                    self._queue.popleft()
                self._done += _size(news)
            self._written()
            if not self._waits:
                # Several threads count what they put: nothing that was miscounted stays so.
                self._done = self._came
                if self._stop:
                    break
        self._tapes.close()

    @property
    def _waits(self) -> bool:
        return bool(self._queue or self._in_hand)

    def _rest(self) -> None:
        """Until there is something to write, and more of it has been gathered."""
        looks = 0
        while not self._stop:
            self._asleep = looks > _LOOKS
            if self._asleep and not self._waits:
                self._wake.wait()
                self._wake.clear()
            self._asleep = False
            self._wake.wait(_GATHER)
            self._wake.clear()
            if self._waits:
                break
            looks += 1

    def _written(self) -> None:
        with self._tapes.hand:
            self._writing, self._in_hand = self._in_hand, set()
        try:
            self._tapes.flush()
        except Exception as error:  # noqa: BLE001 - the boundary: a fault here must not reach a request
            self._lose(error)
        self._writing = set()

    def _fault(self, x: str, error: Exception) -> None:
        self._tapes.forget(x)
        self.faults += 1
        if self.faults <= _MOST_TOLD:
            self._faults.append(f"a fault in ctxtui's recorder: {type(error).__name__}: {error}")


def _size(news: ExchangeEvent) -> int:
    """Bytes of what is told, as far as they may be many."""
    if isinstance(news, RequestBytes | AnswerBytes):
        return len(news.data)
    if isinstance(news, SocketMessage):
        return len(news.text)
    return len(news.body or b"") if isinstance(news, RequestSent) else 0
