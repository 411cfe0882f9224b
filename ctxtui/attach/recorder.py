"""Records exchanges between a client and its provider, in a thread of its own.

`Recorder.put` queues events; the thread unpacks, masks keys, finds the session and writes lines. `put` itself makes
the line of a small single piece of an answer: in the thread, pieces would be processed together, and delay the next
one. Faults are reported in `Recorder.troubles`.
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

from ctxtui.attach.exchange_events import (
    AnswerBegun,
    AnswerBytes,
    AnswerDecided,
    ExchangeEnded,
    ExchangeEvent,
    ExchangeHeld,
    RequestBegun,
    RequestBytes,
    RequestDecided,
    SocketMessage,
)
from ctxtui.attach.lines import encode_answer_line, encode_line, mask_fields, mask_for
from ctxtui.attach.route import is_model_path
from ctxtui.attach.run import RecordedRun, find_session, new_run_name
from ctxtui.attach.tape import Tape, file_name
from ctxtui.core.canonical import Json
from ctxtui.core.errors import Malformed
from ctxtui.transcripts.kit.http_exchange.pair import Sender, identify_sender
from ctxtui.transcripts.kit.http_exchange.recorded_bodies import MARK, VERSION
from ctxtui.wire.bounds import MAX_BODY_BYTES, MAX_UNWRITTEN_BYTES
from ctxtui.wire.key_mask import KeyMask, mask_url
from ctxtui.wire.unpacking import BodyUnpacker, make_unpacker

if TYPE_CHECKING:
    from hashlib import _Hash

_MAX_OPEN_FILES: Final = 64
_MAX_KEPT_BYTES: Final = 128 << 20
"""Maximum bytes of bodies kept over all sessions, for comparison with later ones."""
_MAX_WAITING_BYTES: Final = 4 << 20
"""Bytes of lines waiting for a file above which they are written at once."""
_MAX_INLINE_WAITING_BYTES: Final = 1 << 20
"""Bytes of lines waiting for a file below which `put` may add lines itself."""


class _RecordedExchange(Struct, kw_only=True):
    begun: RequestBegun
    mask: KeyMask
    headers: Mapping[str, str]
    request_body: bytearray = field(default_factory=bytearray)
    request_size: int = 0
    request_hash: _Hash = field(default_factory=hashlib.sha256)
    """Digest of a body that is too large to be recorded."""
    session: str = ""
    tape: Tape | None = None
    unpacker: BodyUnpacker | None = None
    is_packed: bool = False
    """Whether its answer cannot be unpacked and is kept as received."""
    pending: bytes = b""
    """The end of its answer so far, which may begin a key or an incomplete character."""
    answer_size: int = 0
    answer_hash: _Hash = field(default_factory=hashlib.sha256)


class Tapes:
    """The files of a run.

    Lines made by `record` are in them after the next `flush`, unless a file holds only probes (`Tape.is_wanted`).
    Callers of `record`, `discard`, `drop` or `can_append` hold `lock`; only one thread calls `flush` and `close`, which
    write without it.
    """

    def __init__(self, run: RecordedRun) -> None:
        self.lock = threading.Lock()
        self._run = run
        self._open: dict[str, _RecordedExchange] = {}
        self._tapes: dict[str, Tape] = {}
        self._in_use: OrderedDict[str, Tape] = OrderedDict()
        """The tapes whose files may be open, by session, the longest unused first."""
        self._waiting: dict[str, Tape] = {}
        """The tapes with unwritten lines, by session."""

    @property
    def files(self) -> list[Path]:
        return [tape.path for tape in list(self._tapes.values()) if tape.is_wanted]

    @property
    def troubles(self) -> list[str]:
        tapes = list(self._tapes.values())
        return [f"{tape.path}: {tape.lost} lines not written: {tape.why}" for tape in tapes if tape.lost]

    def flush(self) -> None:
        while True:
            with self.lock:
                tape = self._waiting.popitem()[1] if self._waiting else None
                lines = tape.take_lines() if tape is not None else []
            if tape is None:
                break
            tape.write(lines)

    def close(self) -> None:
        for tape in self._in_use.values():
            tape.close()

    def is_open(self, x: str) -> bool:
        return x in self._open

    def can_append(self, x: str) -> bool:
        """Whether a line of exchange `x` can be added without opening, closing or writing a file."""
        exchange = self._open.get(x)
        return (
            exchange is not None
            and exchange.tape is not None
            and exchange.session in self._in_use
            and exchange.tape.size < _MAX_INLINE_WAITING_BYTES
        )

    def discard(self, x: str) -> None:
        self._open.pop(x, None)

    def drop(self) -> None:
        """Discard waiting lines."""
        self._waiting.clear()
        for tape in self._in_use.values():
            tape.drop()

    def reset_after_fork(self) -> None:
        """Waiting lines and bodies belong to the parent process."""
        self.lock = threading.Lock()
        self._open.clear()
        self.drop()

    def record(self, event: ExchangeEvent) -> None:
        if isinstance(event, RequestBegun):
            headers = {name.lower(): text for name, text in event.fields}
            mask = mask_for(event.fields, event.url)
            self._open[event.exchange_id] = _RecordedExchange(begun=event, mask=mask, headers=headers)
            return
        exchange = self._open.get(event.exchange_id)
        if exchange is None:
            return
        if isinstance(event, RequestBytes):
            exchange.request_size += len(event.data)
            if exchange.request_size <= MAX_BODY_BYTES:
                exchange.request_body += event.data
            else:
                exchange.request_hash.update(exchange.request_body)
                exchange.request_hash.update(event.data)
                exchange.request_body.clear()
            if event.last:
                self._write_request(exchange)
            return
        if exchange.tape is None:
            # Answered before the request was complete.
            self._write_request(exchange)
        if isinstance(event, AnswerBegun):
            self._write_answer_head(exchange, event)
        elif isinstance(event, AnswerBytes):
            self._write_piece(exchange, event)
        elif isinstance(event, RequestDecided):
            self._write_sent(exchange, event)
        elif isinstance(event, ExchangeHeld | AnswerDecided):
            members: dict[str, Json] = (
                {"held": event.why, "until": event.until}
                if isinstance(event, ExchangeHeld)
                else {"passed_on": dict(event.report)}
            )
            self._write(exchange, encode_line(x=event.exchange_id, at=event.at, **members))
        elif isinstance(event, SocketMessage):
            masked = exchange.mask.mask_text(event.text)
            self._write(
                exchange,
                encode_line(
                    x=event.exchange_id, at=event.at, frame=masked, by="client" if event.by_client else "server"
                ),
            )
        else:
            self._write_end(exchange, event)

    def _write_request(self, exchange: _RecordedExchange) -> None:
        is_left_out = exchange.request_size > MAX_BODY_BYTES
        begun, wire = exchange.begun, b"" if is_left_out else bytes(exchange.request_body)
        exchange.request_body.clear()
        encoding = exchange.headers.get("content-encoding", "")
        try:
            content = make_unpacker(encoding).feed(wire)
        except Malformed:
            content = wire
        sender = identify_sender(exchange.headers)
        session = begun.session or find_session(sender, self._run.session, begun.url, content)
        exchange.session, exchange.tape = session, self._find_tape(session, sender)
        is_probe = not exchange.request_size and "upgrade" not in exchange.headers
        exchange.tape.is_wanted |= not is_probe or is_model_path(begun.url.partition("?")[0])
        if is_left_out:
            body: dict[str, Json] = {
                "size": exchange.request_size,
                "sha256": exchange.request_hash.hexdigest(),
                "left_out": True,
            }
        else:
            body = exchange.tape.bodies.encode(begun.exchange_id, exchange.mask.mask_bytes(content), wire, encoding)
        request: dict[str, Json] = {
            "method": begun.method,
            "url": mask_url(begun.url),
            "headers": mask_fields(begun.fields),
        }
        if begun.thread:
            request["thread"] = begun.thread
        if begun.keep_warm:
            request["keep_warm"] = True
        self._write(exchange, encode_line(x=begun.exchange_id, at=begun.at, asked={**request, "body": body}))

    def _write_sent(self, exchange: _RecordedExchange, event: RequestDecided) -> None:
        report = dict(event.report)
        if event.replacement_body is not None and exchange.tape is not None:
            body = exchange.mask.mask_bytes(event.replacement_body)
            report["body"] = exchange.tape.sent.encode(event.exchange_id, body, event.replacement_body, "")
        self._write(exchange, encode_line(x=event.exchange_id, at=event.at, sent=report))

    def _write_answer_head(self, exchange: _RecordedExchange, event: AnswerBegun) -> None:
        encoding = next((text for name, text in event.fields if name.lower() == "content-encoding"), "")
        try:
            exchange.unpacker = make_unpacker(encoding)
        except Malformed:
            exchange.is_packed = True
        self._write(
            exchange,
            encode_line(
                x=event.exchange_id,
                at=event.at,
                answered={"status": event.status, "headers": mask_fields(event.fields)},
            ),
        )

    def _write_piece(self, exchange: _RecordedExchange, event: AnswerBytes) -> None:
        exchange.answer_size += len(event.data)
        exchange.answer_hash.update(event.data)
        data = event.data
        if exchange.unpacker is not None and not exchange.is_packed:
            try:
                data = exchange.unpacker.feed(data)
            except Malformed:
                exchange.is_packed = True
        safe, exchange.pending = exchange.mask.split_safe(exchange.pending + data)
        safe, rest = _whole_characters(safe)
        exchange.pending = rest + exchange.pending
        if safe:
            self._write(exchange, encode_answer_line(event.exchange_id, event.at, safe))

    def _write_end(self, exchange: _RecordedExchange, event: ExchangeEnded) -> None:
        if exchange.pending:
            self._write(
                exchange, encode_answer_line(event.exchange_id, event.at, exchange.mask.mask_bytes(exchange.pending))
            )
        size = (
            {"size": exchange.answer_size, "sha256": exchange.answer_hash.hexdigest()} if exchange.answer_size else {}
        )
        self._write(
            exchange,
            encode_line(
                x=event.exchange_id, at=event.at, ended=True, error=exchange.mask.mask_text(event.error), **size
            ),
        )
        del self._open[event.exchange_id]

    def _write(self, exchange: _RecordedExchange, data: bytes) -> None:
        tape = exchange.tape
        if tape is not None:
            if exchange.session not in self._in_use:
                self._mark_used(exchange.session, tape)
            tape.add(data)
            if tape.size > _MAX_WAITING_BYTES:
                tape.is_wanted = True
                tape.flush()
            else:
                self._waiting[exchange.session] = tape

    def _find_tape(self, session: str, sender: Sender) -> Tape:
        tape = self._tapes.get(session)
        if tape is None:
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
            tape = self._tapes[session] = Tape(run.folder / file_name(session), head)
        self._mark_used(session, tape)
        return tape

    def _mark_used(self, session: str, tape: Tape) -> None:
        self._in_use[session] = tape
        self._in_use.move_to_end(session)
        kept_bytes = sum(used.kept_bytes for used in self._in_use.values())
        for used in self._in_use.values():
            if kept_bytes <= _MAX_KEPT_BYTES:
                break
            kept_bytes -= used.kept_bytes
            used.forget_bodies()
        if len(self._in_use) > _MAX_OPEN_FILES:
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
_GATHER_S: Final = 0.03
"""Seconds for which events are gathered before they are written. A killed process loses about that much."""
_MAX_INLINE_BYTES: Final = 1 << 12
"""Maximum bytes of a piece of an answer whose line `put` makes."""
_MIN_GAP_S: Final = 0.0005
"""Seconds since the previous piece from which a piece counts as single. The thread is faster at bursts."""
_MAX_EMPTY_POLLS: Final = 150
"""Consecutive empty polls after which the thread sleeps until it is woken."""


class Recorder:
    """Records a run. `put` may be called from any thread."""

    def __init__(self, run: RecordedRun) -> None:
        self._tapes = Tapes(run)
        self._queue: deque[ExchangeEvent] = deque()
        self._wake = threading.Event()
        self._asleep = False
        """Whether the thread must be woken, which takes longer than recording a piece of an answer."""
        self._stop = False
        self._pending: set[str] = set()
        """Exchanges with unwritten lines."""
        self._writing: set[str] = set()
        """Exchanges whose lines are being written."""
        self._last_piece_at = 0.0
        """Time of the last piece of an answer (Unix seconds)."""
        self._restart_lock = threading.Lock()
        self._bytes_put = self._bytes_taken = 0
        """Bytes queued in all, and bytes recorded from the queue."""
        self._dropped: set[str] = set()
        """Exchanges of which data was dropped."""
        self._faults: list[str] = []
        self._prefix = run.run
        self._numbers = itertools.count(1)
        self.faults = 0
        """Number of exchanges lost to faults of the recorder."""
        self.closed = False
        self._begin()

    def _begin(self) -> None:
        self._thread = threading.Thread(target=self._work, name="ctxtui recorder", daemon=True)
        self._thread.start()

    def next_name(self) -> str:
        return f"{self._prefix}.{next(self._numbers)}"

    def reset_after_fork(self) -> None:
        """Waiting events belong to the parent process, whose thread is not here."""
        self._queue.clear()
        self._pending, self._writing = set(), set()
        self._wake, self._asleep, self._bytes_put, self._bytes_taken = threading.Event(), False, 0, 0
        self._prefix = new_run_name()
        self._tapes.reset_after_fork()
        self._begin()

    def put(self, event: ExchangeEvent) -> None:
        """Queue an event, or record a piece of an answer at once, without waiting for the disk.

        While more than `MAX_UNWRITTEN_BYTES` bytes wait, bodies and WebSocket messages are dropped.
        """
        if not self._thread.is_alive():
            self._restart_thread()
        if not isinstance(event, AnswerBytes) or not self._record_inline(event):
            size = _size(event)
            if size and self._bytes_put - self._bytes_taken > MAX_UNWRITTEN_BYTES:
                self._dropped.add(event.exchange_id)
                return
            self._bytes_put += size
            self._queue.append(event)
        # A head alone makes no line yet.
        if self._asleep and not isinstance(event, RequestBegun):
            self._wake.set()

    def _record_inline(self, event: AnswerBytes) -> bool:
        """Make its line here if that is as fast as waking the thread; return whether it was made."""
        lock = self._tapes.lock
        gap, self._last_piece_at = event.at - self._last_piece_at, event.at
        if gap < _MIN_GAP_S or self._queue or len(event.data) > _MAX_INLINE_BYTES or not lock.acquire(blocking=False):
            return False
        try:
            # Another thread may have queued something meanwhile, and the recorder's thread takes nothing now.
            can_append = not self._queue and self._tapes.can_append(event.exchange_id)
            if can_append:
                self._record(event)
            return can_append
        finally:
            lock.release()

    def _record(self, event: ExchangeEvent) -> None:
        """The caller holds the lock of the tapes."""
        if isinstance(event, RequestBegun) or self._tapes.is_open(event.exchange_id):
            self._pending.add(event.exchange_id)
        try:
            self._tapes.record(event)
        except Exception as error:  # noqa: BLE001 - the boundary: a fault here must not reach a request
            self._report_fault(event.exchange_id, error)

    def _restart_thread(self) -> None:
        """Start another thread if the first one died; what it worked on is lost."""
        with self._restart_lock:
            if self._thread.is_alive() or self._stop:
                return
            self._discard_work(RuntimeError("its thread ended"))
            self._begin()

    def _discard_work(self, error: Exception) -> None:
        """Discard unwritten lines, and report their exchanges."""
        with self._tapes.lock:
            lost = self._pending | self._writing
            self._pending, self._writing = set(), set()
            self._tapes.drop()
            for x in lost:
                self._report_fault(x, error)

    def close(self, seconds: float = 5.0) -> None:
        """Write what waits, for at most `seconds`; what is left is reported in `troubles`."""
        self._stop = self.closed = True
        self._wake.set()
        self._thread.join(seconds)
        if self._thread.is_alive():
            self._faults.append(f"{len(self._queue)} entries still waited for the disk when ctxtui ended")

    def flush(self, seconds: float = 5.0) -> bool:
        """Wait until everything is written; False if it took more than `seconds`."""
        limit = time.monotonic() + seconds
        # Checked in the order of processing: an event is in none of them only when it is written.
        while self._queue or self._pending or self._writing:
            if time.monotonic() > limit:
                return False
            if not self._thread.is_alive():
                self._restart_thread()
            self._wake.set()
            time.sleep(0.002)
        return True

    @property
    def files(self) -> list[Path]:
        return self._tapes.files

    @property
    def troubles(self) -> list[str]:
        dropped = (
            [f"{len(self._dropped)} exchanges not recorded whole: too much waited for the disk"]
            if self._dropped
            else []
        )
        more = (
            [f"{self.faults - _MAX_REPORTED_FAULTS} more exchanges lost to such faults"]
            if self.faults > _MAX_REPORTED_FAULTS
            else []
        )
        return [*self._tapes.troubles, *dropped, *self._faults, *more]

    def _work(self) -> None:
        while True:
            self._wait_for_work()
            for _ in range(len(self._queue)):
                with self._tapes.lock:
                    event = self._queue[0]
                    self._record(event)
                    # Only after recording: `flush` takes an empty queue to mean that everything is recorded.
                    self._queue.popleft()
                self._bytes_taken += _size(event)
            self._flush_tapes()
            if not self._has_work:
                # Several threads count: reset, so that errors do not accumulate.
                self._bytes_taken = self._bytes_put
                if self._stop:
                    break
        self._tapes.close()

    @property
    def _has_work(self) -> bool:
        return bool(self._queue or self._pending)

    def _wait_for_work(self) -> None:
        empty_polls = 0
        while not self._stop:
            self._asleep = empty_polls > _MAX_EMPTY_POLLS
            if self._asleep and not self._has_work:
                self._wake.wait()
                self._wake.clear()
            self._asleep = False
            self._wake.wait(_GATHER_S)
            self._wake.clear()
            if self._has_work:
                break
            empty_polls += 1

    def _flush_tapes(self) -> None:
        with self._tapes.lock:
            self._writing, self._pending = self._pending, set()
        try:
            self._tapes.flush()
        except Exception as error:  # noqa: BLE001 - the boundary: a fault here must not reach a request
            self._discard_work(error)
        self._writing = set()

    def _report_fault(self, x: str, error: Exception) -> None:
        self._tapes.discard(x)
        self.faults += 1
        if self.faults <= _MAX_REPORTED_FAULTS:
            self._faults.append(f"a fault in ctxtui's recorder: {type(error).__name__}: {error}")


def _size(event: ExchangeEvent) -> int:
    """Bytes of an event's data, if it may be large."""
    if isinstance(event, RequestBytes | AnswerBytes):
        return len(event.data)
    if isinstance(event, SocketMessage):
        return len(event.text)
    return len(event.replacement_body or b"") if isinstance(event, RequestDecided) else 0
