"""The protocol of one client connection through a relay, without IO and clock.

`Connection` owns the connections to client and provider; it reports to the passage (`client_data`, `provider_data` ...)
and does what the passage calls. One request is handled at a time: what a client sends before its answer waits.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from ctxtui.attach import http1
from ctxtui.attach.early_answer import EARLY_HEAD, AsEvent, EarlyAnswer, accepts_chunks
from ctxtui.attach.exchange import CUT, GONE, Exchange, fault_record
from ctxtui.attach.exchange_events import AnswerBegun, AnswerBytes, AnswerDecided, ExchangeEvent, RequestDecided
from ctxtui.attach.gate import AnswerVerdict, RequestVerdict
from ctxtui.attach.http1 import Head, build_error_answer
from ctxtui.attach.route import ONLY_HERE, Route, foreign_header
from ctxtui.attach.socket_passage import SocketPassage
from ctxtui.core.errors import Malformed
from ctxtui.wire.bounds import MAX_BODY_BYTES, MAX_EARLY_HEADS, MAX_READ_AHEAD_BYTES

if TYPE_CHECKING:
    from ctxtui.attach.connection import Connection


class Passage:
    """One connection of a client. Its methods take the time `at` (Unix seconds)."""

    def __init__(self, route: Route, connection: Connection) -> None:
        self._route = route
        self._connection = connection
        self._wants = route.wants
        """Whether a request is held for the gate, which may change or refuse it; None: no request is."""
        self._client_buffer = b""
        """The client's data that is not processed yet."""
        self._provider_buffer = b""
        """The provider's data that is not passed on yet."""
        self._exchange: Exchange | None = None
        self._socket: SocketPassage | None = None
        self._passes_unparsed = False
        """Whether the answer cannot be parsed, so that the rest is passed on as received."""
        self._client_has_ended = self._has_ended = False
        self.refused = ""
        """The reason to refuse every request of the client; "" if there is none."""

    @property
    def is_full(self) -> bool:
        """Whether the client should pause."""
        if self._socket is not None:
            return self._socket.is_full
        exchange = self._exchange
        unsent = 0 if exchange is None or exchange.gated else sum(map(len, exchange.waiting))
        return len(self._client_buffer) + unsent > MAX_READ_AHEAD_BYTES

    def client_data(self, data: bytes, at: float) -> None:
        """Handle bytes from the client."""
        if self._has_ended:
            return
        if self._socket is not None:
            self._socket.client_data(data, at)
            return
        self._client_buffer = self._client_buffer + data if self._client_buffer else data
        self._process(at)
        if self._passes_unparsed and self._client_buffer:
            # The end of the answer is unknown, so the next request could get part of it.
            self._end(abort=True)

    def client_ended(self, at: float, gone: bool) -> None:
        """Handle the end of the client's data; a client that is not `gone` still gets its answer."""
        if self._has_ended or self._client_has_ended:
            return
        self._client_has_ended = True
        if self._socket is not None:
            self._socket.end(at)
        elif gone and self._exchange is not None:
            self.client_lost(at)
        else:
            self._end_client_data(at)

    def _end_client_data(self, at: float) -> None:
        if self._exchange is not None:
            if not self._exchange.body.done:
                self.client_lost(at)
        elif self._client_buffer.strip():
            self._refuse(400, "the request's head is incomplete", at)
        else:
            self._end()

    def client_lost(self, at: float) -> None:
        """Handle the loss of the client's connection: its exchange ends as `GONE`."""
        if not self._has_ended:
            self._end_exchange(at, GONE)
            self._end(abort=True)

    def connected(self, at: float) -> None:
        """Send what waits, as the connection to the provider is open."""
        exchange = self._exchange
        if exchange is None or self._has_ended:
            return
        exchange.connected = True
        if exchange.waiting:
            self._connection.to_provider(b"".join(exchange.waiting))
            exchange.waiting.clear()
        self._process(at)

    def not_connected(self, why: str, at: float) -> None:
        if self._exchange is not None and not self._has_ended:
            self._refuse(502, f"{self._exchange.upstream.origin} cannot be reached: {why}", at)

    def decided(self, verdict: RequestVerdict, at: float) -> None:
        """Send the held request, or the verdict's answer, as the gate decided."""
        exchange = self._exchange
        if self._has_ended or exchange is None:
            return
        if self._socket is not None:
            self._socket.decided(verdict, at)
            return
        exchange.deciding = False
        exchange.apply_verdict(verdict, at)
        if verdict.answer is None:
            self._connection.open(exchange.upstream)
        else:
            self._answer_locally(exchange, verdict.answer, at)

    def _answer_locally(self, exchange: Exchange, answer: bytes, at: float) -> None:
        """Send `answer` in place of the provider, which never gets the request."""
        raw, end, content = answer.partition(http1.END)
        head = http1.read_head(raw + end)
        if exchange.early is None:
            self._connection.to_client(answer)
        else:
            exchange.early.begin_provider_answer(http1.status_of(head), head)
            self._connection.to_client(exchange.early.add_provider_data(content) + exchange.early.end())
        exchange.tell(AnswerBegun(exchange.x, at, http1.status_of(head), head.fields))
        exchange.tell(AnswerBytes(exchange.x, at, content))
        exchange.end(at)
        self._end()

    def _send_ping(self, ping: bytes, as_event: AsEvent) -> bool:
        """Send a ping to the client of the held request or answer; returns whether it was sent."""
        exchange = self._exchange
        if self._has_ended or exchange is None or self._socket is not None:
            return False
        if not exchange.deciding and not exchange.is_answer_complete:
            return False
        begun = b""
        if exchange.early is None:
            exchange.early = EarlyAnswer(as_event)
            begun = EARLY_HEAD
        self._connection.to_client(begun + exchange.early.encode_piece(ping))
        return True

    def provider_data(self, data: bytes, at: float) -> None:
        """Handle bytes from the provider: pass them on, or hold them."""
        if self._has_ended:
            return
        exchange = self._exchange
        if self._socket is not None:
            self._socket.provider_data(data, at)
        elif self._passes_unparsed:
            self._connection.to_client(data)
        elif exchange is None:
            # Unrequested: it must not become the answer to the next request.
            self._end(abort=True)
        elif not exchange.connected:
            # Unrequested as well, like the 408 of a provider that closes an idle connection.
            self._connection.abort_provider()
        elif exchange.is_answer_complete:
            # Unrequested as well; the client's connection ends after its answer.
            self._provider_buffer += data
        else:
            try:
                if exchange.answer is None:
                    self._provider_buffer += data
                    self._process_answer_head(exchange, at)
                else:
                    self._pass_on(exchange, data, exchange.answer.feed(data), at)
            except Malformed as error:
                exchange.end(at, f"not recorded from here on: {error}")
                if exchange.early is not None:
                    # Unreadable data cannot continue the started stream.
                    self._end(abort=True)
                    return
                self._pass_on_held(exchange)
                self._passes_unparsed = True
                data, self._provider_buffer = self._provider_buffer or data, b""
                self._connection.to_client(data)

    def provider_ended(self, at: float, broken: bool = False) -> None:
        """Handle the end of the provider's data, or a `broken` connection."""
        if self._has_ended:
            return
        exchange = self._exchange
        if self._socket is not None:
            self._socket.end(at)
            return
        if exchange is not None:
            if not exchange.connected:
                # An idle connection was closed before the request was sent; `open` connects anew.
                return
            is_complete = exchange.answer is not None and not broken and exchange.answer.end()
            if exchange.held_answer is not None and (is_complete or exchange.is_answer_complete):
                exchange.held_answer.connection_ended = True
                if not exchange.is_answer_complete:
                    self._ask_about_answer(exchange, at)
                return
            with suppress(Malformed):
                self._pass_on_held(exchange)
            if self._provider_buffer and exchange.early is None:
                # An incomplete head.
                self._connection.to_client(self._provider_buffer)
            if is_complete and exchange.early is not None and not exchange.ended:
                self._connection.to_client(exchange.early.end())
            exchange.end(at, "" if is_complete else CUT)
        self._has_ended = True
        (self._connection.break_off if broken else self._connection.end)()

    def close(self, at: float) -> None:
        if not self._has_ended:
            self._end_exchange(at, "ctxtui ended")
            self._has_ended = True

    def _end_exchange(self, at: float, why: str) -> None:
        if self._socket is not None:
            self._socket.close(at)
        elif self._exchange is not None:
            self._exchange.end(at, why)

    def _process(self, at: float) -> None:
        try:
            while self._client_buffer and not self._has_ended and self._process_step(at):
                pass
        except Malformed as error:
            self._refuse(400, str(error), at)

    def _process_step(self, at: float) -> bool:
        """Process one step; returns whether to try another one. Raises `Malformed`."""
        exchange = self._exchange
        if exchange is None:
            head = self._next_head()
            if head is not None:
                self._begin_request(head, at)
            return head is not None
        if not exchange.body.done:
            self._process_body(exchange, at)
        return False

    def _process_body(self, exchange: Exchange, at: float) -> None:
        data, self._client_buffer, content = exchange.split_body(self._client_buffer)
        if exchange.connected:
            self._connection.to_provider(data)
        else:
            exchange.waiting.append(data)
        if exchange.gated and exchange.is_too_large:
            exchange.let_pass()
            self._connection.open(exchange.upstream)
        exchange.report_body(content, at)
        if exchange.gated and exchange.body.done:
            exchange.deciding = True
            self._connection.ask(
                exchange.to_waiting_request(self._send_ping if accepts_chunks(exchange.head) else None)
            )

    def _next_head(self) -> Head | None:
        """The next head; None while it is incomplete. Raises `Malformed`."""
        if self._client_buffer[:1] in b"\r\n":
            self._client_buffer = self._client_buffer.lstrip(b"\r\n")
        parsed = http1.next_head(self._client_buffer)
        head, self._client_buffer = parsed or (None, self._client_buffer)
        return head

    def _begin_request(self, head: Head, at: float) -> None:
        request = http1.request_line(head)
        why = "" if self._route.allows_foreign else foreign_header(head)
        if why or self.refused:
            self._refuse(403, self.refused or f"{ONLY_HERE}; this came with {why!r}", at)
            return
        try:
            upstream, target = self._route.find_upstream(request.target)
        except Malformed as error:
            self._refuse(404, str(error), at)
            return
        is_recorded = self._route.should_record(head, target)
        exchange = Exchange(
            x=self._route.name(),
            tell=self._route.tell if is_recorded else _discard,
            upstream=upstream,
            head=head,
            method=request.method,
            target=target,
            client_target=request.target,
            body=http1.request_body(head),
        )
        self._exchange = exchange
        exchange.begin(at)
        self._wants = self._route.wants if is_recorded else None
        exchange.gated = self._should_hold(exchange, at)
        if not exchange.gated:
            # Sent in one piece with its received body.
            data, self._client_buffer, content = exchange.split_body(self._client_buffer)
            exchange.waiting += [exchange.head_bytes(), data]
            self._connection.open(upstream)
            if content or exchange.body.done:
                exchange.report_body(content, at)

    def _should_hold(self, exchange: Exchange, at: float) -> bool:
        """Whether to hold the request for the gate.

        A request without a body, or one that waits for ``100 Continue``, is not held.
        """
        wants = self._wants
        if wants is None or exchange.body.done or exchange.head.get("expect"):
            return False
        try:
            gated = wants(exchange.head)
            exchange.skipped_gate = gated and exchange.is_too_large
            return gated and not exchange.skipped_gate
        except Exception as error:  # noqa: BLE001 - the boundary: a fault of ours must not stop a request
            exchange.tell(RequestDecided(exchange.x, at, None, fault_record(error)))
            return False

    def _process_answer_head(self, exchange: Exchange, at: float) -> None:
        """Process the heads of an answer: its own, and interim ones (``100 Continue``).

        Raises `Malformed`.
        """
        while self._provider_buffer:
            parsed = http1.next_head(self._provider_buffer)
            if parsed is None:
                return
            head, rest = parsed
            status = http1.status_of(head)
            exchange.head_count += 1
            if exchange.head_count > MAX_EARLY_HEADS or (status == 101 and not exchange.head.get("upgrade")):
                raise Malformed("too many interim answers, or a switch of protocol that was not requested")
            body = http1.answer_body(head, status, exchange.method)
            if status >= 200:
                # Only an answer with status 200 is held.
                exchange.held_answer = exchange.held_answer if status == 200 else None
                if exchange.early is not None:
                    exchange.early.begin_provider_answer(status, head)
                fed = body.feed(rest)
                exchange.answer, exchange.answer_head, self._provider_buffer = body, head, b""
                self._pass_on(exchange, rest, fed, at, head)
                return
            if exchange.early is None:
                self._connection.to_client(head.raw)
            self._provider_buffer = rest
            if status == 101:
                exchange.answer, exchange.answer_head, self._provider_buffer = body, head, b""
                exchange.tell(AnswerBegun(exchange.x, at, status, head.fields))
                self._switch_protocol(exchange, head, rest, at)
                return

    def _pass_on(
        self, exchange: Exchange, data: bytes, fed: tuple[int, bytes], at: float, head: Head | None = None
    ) -> None:
        """Pass on or hold more `data` of an answer, and report it.

        `head`: the answer's head, if it has just arrived; `fed`: the result of `BodyReader.feed` for `data`.
        """
        body = exchange.answer
        assert body is not None
        length, content = fed
        if length < len(data):
            data, self._provider_buffer = data[:length], data[length:]
        if exchange.held_answer is not None:
            exchange.hold_answer_data(head.raw + data if head is not None else data, content)
            if exchange.held_answer.size > MAX_BODY_BYTES:
                self._pass_on_held(exchange)
        elif exchange.early is not None:
            self._connection.to_client(
                exchange.early.add_provider_data(content) + (exchange.early.end() if body.done else b"")
            )
        else:
            self._connection.to_client(head.raw + data if head is not None else data)
        if head is not None:
            exchange.tell(AnswerBegun(exchange.x, at, http1.status_of(head), head.fields))
        if content:
            exchange.tell(AnswerBytes(exchange.x, at, content))
        if body.done and exchange.held_answer is not None:
            self._ask_about_answer(exchange, at)
        elif body.done:
            self._end_answer(exchange, at)

    def _pass_on_held(self, exchange: Exchange) -> None:
        """Stop holding the answer, and pass on what is held. Raises `Malformed`."""
        if exchange.held_answer is not None:
            held_data = exchange.encode_held_data()
            exchange.held_answer = None
            self._connection.to_client(held_data)

    def _ask_about_answer(self, exchange: Exchange, at: float) -> None:
        assert exchange.held_answer is not None
        exchange.held_answer.completed = at
        ping = self._send_ping if accepts_chunks(exchange.head) else None
        self._connection.ask_about_answer(exchange.held_answer.decide, exchange.to_waiting_answer(ping))

    def answer_decided(self, verdict: AnswerVerdict, at: float) -> None:
        """Send the held answer to the client as decided."""
        exchange = self._exchange
        if self._has_ended or exchange is None or exchange.held_answer is None:
            return
        try:
            self._connection.to_client(exchange.encode_answer(verdict))
        except Malformed:
            self._end_exchange(at, "the held answer could not continue the stream that was begun")
            self._end(abort=True)
            return
        if verdict.report:
            exchange.tell(AnswerDecided(exchange.x, at, verdict.report))
        exchange.end(exchange.held_answer.completed or at)
        must_end = exchange.held_answer.connection_ended or verdict.refusal is not None or exchange.early is not None
        exchange.held_answer = None
        if must_end:
            self._end()
        else:
            self._end_answer(exchange, at)

    def _end_answer(self, exchange: Exchange, at: float) -> None:
        exchange.end(at)
        if self._provider_buffer or not exchange.may_continue:
            self._end()
            return
        self._exchange = None
        self._process(at)
        if self._client_has_ended and not self._has_ended:
            self._end_client_data(at)

    def _switch_protocol(self, exchange: Exchange, head: Head, rest: bytes, at: float) -> None:
        self._socket = SocketPassage(exchange, head, self._connection, self._wants)
        if rest:
            self._socket.provider_data(rest, at)
        if self._client_buffer:
            buffered, self._client_buffer = self._client_buffer, b""
            self._socket.client_data(buffered, at)

    def _refuse(self, status: int, why: str, at: float) -> None:
        """Send an error answer, unless another one has begun, and close the connection."""
        if self._exchange is not None:
            self._exchange.end(at, why)
            if self._exchange.answer is not None:
                self._end()
                return
        answer = build_error_answer(status, why)
        if self._exchange is not None and self._exchange.early is not None:
            answer = self._exchange.early.end_with_error(status, answer.partition(http1.END)[2])
        self._connection.to_client(answer)
        self._end()

    def _end(self, *, abort: bool = False) -> None:
        self._has_ended = True
        self._connection.end(abort)


def _discard(event: ExchangeEvent) -> None:
    pass
