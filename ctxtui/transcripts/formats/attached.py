"""Reads recordings that ctxtui makes between a client and its provider.

``ctxtui exec``, ``ctxtui proxy`` and ``ctxtui.record`` write them: requests and answers, unpacked, with secrets masked.
Each line is an object. The first one has the mark `MARK` and describes the session. A line with ``lost`` has the number
of requests and answers that were not recorded, and ``why``. All others have the exchange's name ``x``, a time ``at``,
and one of

- ``asked``: the request, whose body may refer to an earlier one;
- ``held``: why the request waits;
- ``sent``: the relay's decision, with the ``body`` if it was edited;
- ``answered``: status and headers of the answer;
- ``data``: a piece of the answer, as text or ``base64``;
- ``frame``: a WebSocket message, ``by`` the client or the server;
- ``passed_on``: the relay's decision about the answer;
- ``ended``: the end, with the ``error`` that broke the connection, if any.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from ctxtui.core.call import EDITS, KEEP_WARM, Call
from ctxtui.core.canonical import Json
from ctxtui.core.errors import Malformed
from ctxtui.core.json_values import as_count, as_dict, as_list, as_str
from ctxtui.core.session import COMPACTING, MAIN, AnswerGrew, Described, Event, Happened, Skipped, TipMoved
from ctxtui.core.tree import ROOT, Tree
from ctxtui.transcripts.kit import file_head
from ctxtui.transcripts.kit.fields import as_time
from ctxtui.transcripts.kit.http_exchange.compaction import may_compact, recognize_compaction
from ctxtui.transcripts.kit.http_exchange.decode import detect_dialect
from ctxtui.transcripts.kit.http_exchange.exchanges import Exchanges
from ctxtui.transcripts.kit.http_exchange.pair import (
    KEPT_WARM,
    Exchange,
    identify_sender,
    parse_body,
    read_betas,
    replaces_answer,
)
from ctxtui.transcripts.kit.http_exchange.recorded_bodies import MARK, VERSION, BodiesByReference, decode_bytes
from ctxtui.transcripts.kit.http_exchange.sockets import SocketExchanges, warm_up_id
from ctxtui.transcripts.kit.quota import read_quota_headers
from ctxtui.transcripts.kit.readers import lines_reader
from ctxtui.transcripts.kit.records import RawRecord
from ctxtui.wire.registry import DIALECTS
from ctxtui.wire.sse import EventParser
from ctxtui.wire.stream import StreamReader


class _PartialAnswer(Struct):
    """The partial answer to one request; without blocks if it is no stream of a known API."""

    _reader: StreamReader | None
    _parser: EventParser = field(default_factory=EventParser)
    _blocks: dict[int, tuple[str, list[str]]] = field(default_factory=dict)

    @classmethod
    def start(cls, exchange: Exchange) -> _PartialAnswer:
        dialect = detect_dialect(exchange, as_dict(parse_body(exchange.request)))
        codec = DIALECTS.get(dialect)
        return cls(codec.stream_reader() if codec is not None else None)

    def feed(self, data: bytes) -> None:
        if self._reader is None:
            return
        try:
            deltas = self._reader.feed(self._parser.feed(data))
        except Malformed:
            self._reader = None  # the call reports the error
            return
        for block, kind, text in deltas:
            self._blocks.setdefault(block, (kind, []))[1].append(text)

    @property
    def blocks(self) -> tuple[tuple[str, str], ...]:
        """Its blocks so far, each by kind and text."""
        return tuple((kind, "".join(texts)) for _, (kind, texts) in sorted(self._blocks.items()))


NAME: Final = "attached"
_MIN_ERROR_STATUS: Final = 400


def sniff(head: bytes, name: str) -> float:
    first = next(iter(file_head.parse_values(head)), None)
    if isinstance(first, dict) and MARK in first:
        return 1.0
    return 0.9 if head.lstrip().startswith(b'{"' + MARK.encode()) else 0.0


class _OpenExchange(Struct, kw_only=True):
    exchange: Exchange
    socket: SocketExchanges | None = None
    chunks: list[bytes] = field(default_factory=list)
    sent: bytes | None = None
    """The edited body that was sent instead."""
    decision: dict[str, Json] = field(default_factory=dict)
    """The relay's decisions about its open request and answer, without the body."""
    tip: TipMoved | None = None
    """Tip of its thread while it is held or being answered."""
    answer: _PartialAnswer | None = None
    consumed: int = 0
    """Number of chunks, or WebSocket events, already in `answer`."""
    socket_request: Exchange | None = None
    """The WebSocket request that `answer` belongs to."""

    def mark_sent(self, time: float | None) -> None:
        """Set the time at which the request was sent; a held request starts then."""
        if time is None:
            return
        if self.socket is not None:
            self.socket.mark_sent(time)
        else:
            self.exchange = replace(self.exchange, started=time)


class _AttachedHandler:
    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._exchanges = Exchanges(tree)
        self._open: dict[str, _OpenExchange] = {}
        self._bodies = BodiesByReference()
        self._streamed_threads: set[str] = set()
        """Threads in which an answer was streaming; once it is complete, its partial answer is reported as empty."""

    def record(self, line: dict[str, Json], source: RawRecord) -> Iterator[Event]:
        name = as_str(line.get("x"))
        if MARK in line:
            yield from self._handle_start(line, source.line)
        elif "lost" in line:
            why = as_str(line.get("why")) or "no reason given"
            yield Skipped(source.line, f"{as_count(line['lost'])} requests or answers were not recorded: {why}")
        elif "asked" in line:
            yield from self._handle_request(name, line, source.line)
        elif name in self._open:
            yield from self._handle_line(name, self._open[name], line)
        else:
            yield Skipped(
                source.line, f"a line of exchange {name or 'without a name'}, whose beginning was not recorded"
            )

    def state_events(self) -> Iterable[Event]:
        partial_answers = self._partial_answers()
        yield Described(title=self._exchanges.threads.title)
        yield from self._exchanges.threads.tips()
        # Requests that are held or being answered are not calls yet.
        yield from (thread.tip for thread in self._open.values() if thread.tip is not None)
        yield from (AnswerGrew(thread, partial_answers.get(thread, ())) for thread in sorted(self._streamed_threads))

    def _partial_answers(self) -> dict[str, tuple[tuple[str, str], ...]]:
        """Partial answers by thread; only chunks received since this method last ran are parsed."""
        answers: dict[str, tuple[tuple[str, str], ...]] = {}
        for pending in self._open.values():
            exchange, count = pending.exchange, len(pending.chunks)
            if pending.socket is not None:
                if pending.socket.open_request is None or not pending.socket.event_count:
                    continue
                exchange, count = pending.socket.open_request, pending.socket.event_count
                if pending.socket_request != exchange:
                    pending.socket_request, pending.answer, pending.consumed, pending.tip = exchange, None, 0, None
            if not count or exchange.status >= _MIN_ERROR_STATUS:
                continue
            if pending.answer is None:
                pending.answer = _PartialAnswer.start(exchange)
            if pending.tip is None:
                pending.tip = next(
                    self._exchanges.pending_tips(replace(exchange, sender=pending.exchange.sender)), None
                )
            new = (
                pending.socket.received_events(pending.consumed)
                if pending.socket is not None
                else b"".join(pending.chunks[pending.consumed :])
            )
            pending.consumed = count
            pending.answer.feed(new)
            if pending.tip is not None and pending.answer.blocks:
                self._streamed_threads.add(pending.tip.thread)
                answers[pending.tip.thread] = pending.answer.blocks
        return answers

    def _handle_start(self, line: dict[str, Json], number: int) -> Iterator[Event]:
        if as_count(line[MARK]) != VERSION:
            yield Skipped(number, f"a recording of another version of this format ({line[MARK]})")
        yield Described(
            id=as_str(line.get("session")),
            source=NAME,
            client=as_str(line.get("client")) or as_str(line.get("program")),
            version=as_str(line.get("version")),
            cwd=as_str(line.get("cwd")),
        )

    def _handle_request(self, name: str, line: dict[str, Json], number: int) -> Iterator[Event]:
        request = as_dict(line.get("asked"))
        headers = {name.lower(): value for name, value in _header_pairs(request)}
        body_json = as_dict(request.get("body"))
        body = b"" if body_json.get("left_out") else self._bodies.resolve(name, body_json)
        if body_json.get("left_out"):
            yield Skipped(
                number, f"a request of {as_count(body_json.get('size')):,} bytes, which was too large to be recorded"
            )
        if body is None:
            yield Skipped(number, "a request whose beginning was not recorded")
            body = b""
            self._bodies.mark_lost(name)
        sender = identify_sender(headers)
        keeps_warm = request.get("keep_warm") is True
        exchange = Exchange(
            body,
            url=as_str(request.get("url")),
            method=as_str(request.get("method")) or "POST",
            started=as_time(line.get("at")),
            line=number,
            extra={**read_betas(headers.items()), **({KEEP_WARM: True} if keeps_warm else {})},
            sender=replace(
                sender, thread=as_str(request.get("thread")) or sender.thread, aside=KEPT_WARM if keeps_warm else ""
            ),
        )
        self._open[name] = _OpenExchange(exchange=exchange)
        yield from _report_compaction(body, exchange, exchange.started)

    def _handle_line(self, name: str, pending: _OpenExchange, line: dict[str, Json]) -> Iterator[Event]:
        time = as_time(line.get("at"))
        if "sent" in line:
            pending.mark_sent(time)
            yield from self._handle_sent(name, pending, as_dict(line.get("sent")))
        elif "held" in line:
            yield from self._handle_hold(pending, as_str(line.get("held")), time)
        elif "passed_on" in line:
            pending.decision = {**pending.decision, **as_dict(line.get("passed_on"))}
        elif "answered" in line:
            answered = as_dict(line.get("answered"))
            status = as_count(answered.get("status"))
            yield from read_quota_headers(_header_pairs(answered), time)
            pending.exchange = replace(pending.exchange, status=status)
            if status == 101:
                pending.socket = SocketExchanges(pending.exchange.url)
        elif "frame" in line:
            yield from self._handle_frame(pending, as_str(line.get("frame")), line.get("by") == "client", time)
        elif "data" in line:
            if not pending.chunks:
                pending.exchange = replace(pending.exchange, first_byte=time)
            pending.chunks.append(decode_bytes({"base64" if line.get("base64") else "text": line["data"]}))
        elif "ended" in line:
            del self._open[name]
            if pending.socket is None:
                whole = replace(pending.exchange, response=b"".join(pending.chunks), ended=time)
                yield from self._finish(pending, whole, as_str(line.get("error")))
            elif (rest := pending.socket.close(time)) is not None:
                yield from self._finish(pending, rest, as_str(line.get("error")))

    def _handle_frame(self, pending: _OpenExchange, frame: str, by_client: bool, time: float | None) -> Iterator[Event]:
        if pending.socket is None:
            return
        if by_client:
            yield from _report_compaction(frame.encode("utf-8", "replace"), pending.exchange, time)
        done = pending.socket.add_frame(frame, by_client, time)
        if done is not None:
            yield from self._finish(pending, done)

    def _finish(self, pending: _OpenExchange, exchange: Exchange, error: str = "") -> Iterator[Event]:
        exchange = replace(exchange, line=pending.exchange.line, sender=pending.exchange.sender)
        if warmed := warm_up_id(exchange):
            self._exchanges.hold_warm_up(exchange, warmed)
            return
        for event in self._exchanges.add_exchange(exchange, partial(self._with_sent_context, pending, error)):
            # Of the requests without a context, GET and HEAD are not reported.
            if not (isinstance(event, Happened) and exchange.method in ("GET", "HEAD")):
                yield event
        yield from self._exchanges.threads.settle()
        # Later requests on a WebSocket get their own decisions.
        pending.decision, pending.sent, pending.tip = {}, None, None

    def _handle_sent(self, name: str, pending: _OpenExchange, decision: dict[str, Json]) -> Iterator[Event]:
        pending.decision = {key: item for key, item in decision.items() if key != "body"}
        if "body" in decision:
            pending.sent = self._bodies.resolve(name, as_dict(decision["body"]), "sent")
            if pending.sent is None:
                yield Skipped(pending.exchange.line, "the edited body of a request was not recorded")

    def _handle_hold(self, pending: _OpenExchange, why: str, time: float | None) -> Iterator[Event]:
        exchange = pending.socket.open_request if pending.socket is not None else pending.exchange
        if exchange is None:
            return
        for tip in self._exchanges.pending_tips(replace(exchange, sender=pending.exchange.sender)):
            pending.tip = tip
            yield tip
            yield Happened("held", why, tip.thread, time)

    def _with_sent_context(self, pending: _OpenExchange, error: str, call: Call) -> Call:
        """Add the relay's decision, the edited body, and a connection's `error` to a call.

        Remove its usage if the user or a replay answered.
        """
        call = replace(call, error=error or call.error)
        if pending.decision:
            call = replace(call, extra={**call.extra, EDITS: pending.decision})
        if replaces_answer(pending.decision):
            # Nothing was read, so there is no usage.
            call = replace(call, usage=None)
        if pending.sent is None or call.skeleton is None:
            return call
        try:
            request = DIALECTS[call.skeleton.dialect].decode_request(pending.sent, None)
        except Malformed as malformed:
            return replace(call, error=call.error or str(malformed))
        return replace(call, sent_head=self._tree.extend(ROOT, request.items), skeleton=request.skeleton)


def _report_compaction(body: bytes, exchange: Exchange, at: float | None) -> Iterator[Event]:
    if may_compact(exchange.path, body):
        compaction = recognize_compaction(exchange.path, parse_body(body))
        if compaction is not None:
            yield Happened(COMPACTING, f"{compaction.client} compacts its history", exchange.sender.thread or MAIN, at)


def _header_pairs(message: dict[str, Json]) -> list[tuple[str, str]]:
    pairs = (as_list(pair) for pair in as_list(message.get("headers")))
    return [(as_str(pair[0]), as_str(pair[1])) for pair in pairs if len(pair) == 2]


reader = lines_reader(_AttachedHandler)
