"""Writes down what goes between a client and its provider, in a thread of its own: nobody waits for it.

Whoever passes bytes on calls `put` with what happened; it only queues. The thread unpacks, keeps keys out, finds the
session and writes lines. A fault of it is told when the run ends and never reaches a request.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from ctxtui.attach.decoding import BodyUnpacker, unpacker
from ctxtui.attach.lines import RecordedBodies, digest, line, text_of
from ctxtui.attach.masks import mask_for, shown, shown_url
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
from ctxtui.transcripts.kit.http_exchange.sender import Sender, sender_of
from ctxtui.wire.key_mask import KeyMask

MOST_WAITING: Final = 256 << 20
"""Bytes that may wait to be written; beyond, what comes is lost and counted."""
_OPEN_FILES: Final = 64
_MOST_TOLD: Final = 10
"""Faults that are told one by one."""
_GATHER: Final = 0.03
"""Seconds for which what comes is gathered before it is written; so much a killed process loses at most."""


@dataclass(slots=True, kw_only=True)
class _Recorded:
    begun: RequestBegun
    mask: KeyMask
    headers: Mapping[str, str]
    pieces: list[bytes] = field(default_factory=list)
    tape: Tape | None = None
    unpacker: BodyUnpacker | None = None
    packed: bool = False
    """Whether its answer cannot be unpacked: it is kept as it came."""
    held: bytes = b""
    size: int = 0
    wire: list[bytes] = field(default_factory=list)


class Recorder:
    """Records a run. `put` may be called from any thread."""

    def __init__(self, run: RecordedRun) -> None:
        self._run = run
        self._queue: deque[ExchangeEvent] = deque()
        self._wake = threading.Event()
        self._hurry = threading.Event()
        """Set by who waits for what is written."""
        self._stop = False
        self._in_hand: ExchangeEvent | None = None
        """What is being written."""
        self._reviving = threading.Lock()
        self._waiting = 0
        self._dropped: set[str] = set()
        self._open: dict[str, _Recorded] = {}
        self._tapes: dict[str, Tape] = {}
        self._faults: list[str] = []
        self._prefix = run.run
        self._numbers = itertools.count(1)
        self.faults = 0
        """Exchanges that were lost to faults of the recorder."""
        self.exchanges = 0
        """Exchanges that were written down so far."""
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
        self._wake, self._hurry, self._waiting = threading.Event(), threading.Event(), 0
        self._prefix = new_run()
        self._open.clear()
        for tape in self._tapes.values():
            # The parent goes on from them.
            tape.bodies, tape.sent = RecordedBodies(), RecordedBodies()
        self._begin()

    def put(self, news: ExchangeEvent) -> None:
        """Something happened. Never raises, never waits."""
        if isinstance(news, RequestBytes | AnswerBytes):
            if self._waiting > MOST_WAITING:
                self._dropped.add(news.x)
                return
            self._waiting += len(news.data)
        self._queue.append(news)
        if not self._wake.is_set():
            self._wake.set()
        if not self._thread.is_alive():
            self._revive()

    def _revive(self) -> None:
        """The thread is gone, whatever ended it: another one goes on. What the first had in hand is lost, and told."""
        with self._reviving:
            if self._thread.is_alive() or self._stop:
                return
            news, self._in_hand = self._in_hand, None
            self._waiting = sum(
                len(one.data) for one in list(self._queue) if isinstance(one, RequestBytes | AnswerBytes)
            )
            if news is not None:
                self._fault(news, RuntimeError("its thread ended"))
            self._wake.set()
            self._begin()

    def close(self, seconds: float = 5.0) -> None:
        """Write what waits, for at most so many seconds."""
        self._stop = self.closed = True
        self._hurry.set()
        self._wake.set()
        self._thread.join(seconds)
        if self._thread.is_alive():
            self._faults.append(f"{len(self._queue)} entries still waited for the disk when ctxtui ended")

    def flush(self, seconds: float = 5.0) -> bool:
        """Wait until everything that was put is written; whether it was within so many seconds."""
        limit = time.monotonic() + seconds
        self._hurry.set()
        while (self._queue or self._in_hand is not None) and time.monotonic() < limit:
            if not self._thread.is_alive():
                self._revive()
            time.sleep(0.002)
        self._hurry.clear()
        return not self._queue

    @property
    def files(self) -> list[Path]:
        """The recordings that were written."""
        return [tape.path for tape in self._tapes.values()]

    @property
    def troubles(self) -> list[str]:
        """What could not be recorded, in words."""
        lost = [f"{tape.path}: {tape.lost} lines not written: {tape.why}" for tape in self._tapes.values() if tape.lost]
        dropped = (
            [f"{len(self._dropped)} exchanges not recorded: too much waited for the disk"] if self._dropped else []
        )
        more = [f"{self.faults - _MOST_TOLD} more exchanges lost so"] if self.faults > _MOST_TOLD else []
        return [*lost, *dropped, *self._faults, *more]

    def _work(self) -> None:
        while True:
            self._wake.wait()
            if not self._stop:
                # What comes meanwhile is written with it: whoever passes it on is not held up by each piece.
                self._hurry.wait(_GATHER)
            self._wake.clear()
            while self._queue:
                news = self._queue[0]
                try:
                    self._take(news)
                except Exception as error:  # noqa: BLE001 - the boundary: a fault here must not reach a request
                    self._fault(news, error)
                # Only now: who waits for an empty queue waits for what is written.
                self._queue.popleft()
                if isinstance(news, RequestBytes | AnswerBytes):
                    self._waiting -= len(news.data)
            if self._stop:
                break
        for tape in self._tapes.values():
            tape.close()

    def _fault(self, news: ExchangeEvent, error: Exception) -> None:
        self._open.pop(news.x, None)
        self.faults += 1
        if self.faults <= _MOST_TOLD:
            self._faults.append(f"a fault in ctxtui's recorder: {type(error).__name__}: {error}")

    def _take(self, news: ExchangeEvent) -> None:
        if isinstance(news, RequestBegun):
            headers = {name.lower(): text for name, text in news.fields}
            self._open[news.x] = _Recorded(begun=news, mask=mask_for(news.fields), headers=headers)
            return
        one = self._open.get(news.x)
        if one is None:
            return
        if isinstance(news, RequestBytes):
            one.pieces.append(news.data)
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
            told = one.mask.text(news.text)
            self._write(one, line(x=news.x, at=news.at, frame=told, by="client" if news.by_client else "server"))
        else:
            self._ended(one, news)

    def _asked(self, one: _Recorded) -> None:
        begun, wire = one.begun, b"".join(one.pieces)
        one.pieces.clear()
        encoding = one.headers.get("content-encoding", "")
        try:
            said = unpacker(encoding).feed(wire)
        except Malformed:
            said = wire
        sender = sender_of(one.headers)
        session = begun.session or sender.session or self._run.session or session_of(begun.url, said)
        one.tape = self._tape(session, sender)
        body = one.tape.bodies.told(begun.x, one.mask.masked(said), wire, encoding)
        asked: dict[str, Json] = {"method": begun.method, "url": shown_url(begun.url), "headers": shown(begun.fields)}
        if begun.thread:
            asked["thread"] = begun.thread
        self._write(one, line(x=begun.x, at=begun.at, asked={**asked, "body": body}))

    def _sent(self, one: _Recorded, news: RequestSent) -> None:
        told = dict(news.told)
        if news.body is not None and one.tape is not None:
            body = one.mask.masked(news.body)
            told["body"] = one.tape.sent.told(news.x, body, news.body, "")
        self._write(one, line(x=news.x, at=news.at, sent=told))

    def _answered(self, one: _Recorded, news: AnswerBegun) -> None:
        encoding = next((text for name, text in news.fields if name.lower() == "content-encoding"), "")
        try:
            one.unpacker = unpacker(encoding)
        except Malformed:
            one.packed = True
        self._write(one, line(x=news.x, at=news.at, answered={"status": news.status, "headers": shown(news.fields)}))

    def _said(self, one: _Recorded, news: AnswerBytes) -> None:
        one.size += len(news.data)
        one.wire.append(news.data)
        data = news.data
        if one.unpacker is not None and not one.packed:
            try:
                data = one.unpacker.feed(data)
            except Malformed:
                one.packed = True
        told, one.held = one.mask.piece(one.held + data)
        told, rest = _whole_characters(told)
        one.held = rest + one.held
        if told:
            self._write(one, _data(news.x, news.at, told))

    def _ended(self, one: _Recorded, news: ExchangeEnded) -> None:
        if one.held:
            self._write(one, _data(news.x, news.at, one.mask.masked(one.held)))
        size = {"size": one.size, "sha256": digest(b"".join(one.wire))} if one.size else {}
        self._write(one, line(x=news.x, at=news.at, ended=True, error=one.mask.text(news.error), **size))
        del self._open[news.x]
        self.exchanges += 1

    def _write(self, one: _Recorded, data: bytes) -> None:
        if one.tape is not None:
            one.tape.write(data)

    def _tape(self, session: str, sender: Sender) -> Tape:
        known = self._tapes.get(session)
        if known is None:
            if len(self._tapes) >= _OPEN_FILES:
                # The longest unused would be better, the first is as good: it opens again when it is needed.
                next(iter(self._tapes.values())).close()
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
        return known


def _data(x: str, at: float, data: bytes) -> bytes:
    told = text_of(data)
    if "text" in told:
        return line(x=x, at=at, data=told["text"])
    return line(x=x, at=at, data=told["base64"], base64=True)


def _whole_characters(data: bytes) -> tuple[bytes, bytes]:
    """`data` up to its last whole character of UTF-8, and the rest."""
    for n in range(1, min(4, len(data)) + 1):
        lead = data[-n]
        if lead & 0xC0 == 0x80:
            continue
        wants = 1 if lead < 0x80 else 2 if lead >> 5 == 6 else 3 if lead >> 4 == 14 else 4 if lead >> 3 == 30 else 1
        return (data[:-n], data[-n:]) if wants > n else (data, b"")
    return data, b""
