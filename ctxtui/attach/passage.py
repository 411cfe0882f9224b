"""The protocol of one client connection through a relay: bytes in, bytes out. No IO, no clock.

The owner of the connections calls `client_data`, `provider_data` and so on, and executes the calls to `Connection`. One
request is handled at a time; data that a client sends before its answer is kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxtui.attach import http1
from ctxtui.attach.early_answer import AsEvent, EarlyAnswer, accepts_chunks
from ctxtui.attach.exchange import CUT, GONE, Exchange
from ctxtui.attach.gate import RequestVerdict
from ctxtui.attach.http1 import Head, build_error_answer
from ctxtui.attach.news import AnswerBegun, AnswerBytes, ExchangeEvent
from ctxtui.attach.route import ONLY_HERE, Route, foreign_header
from ctxtui.attach.socket_passage import SocketPassage
from ctxtui.core.errors import Malformed
from ctxtui.wire.bounds import MAX_EARLY_HEADS, MAX_READ_AHEAD

if TYPE_CHECKING:
    from ctxtui.attach.connection import Connection


class Passage:
    """One connection of a client. Every method takes the time `at` (Unix seconds) and neither waits nor raises."""

    def __init__(self, route: Route, ends: Connection) -> None:
        self._route = route
        self._ends = ends
        self._wants = route.wants
        """Whether a gate must be asked about the current request."""
        self._held = b""
        """What the client said and nobody has read yet."""
        self._came = b""
        """The same of the provider."""
        self._one: Exchange | None = None
        self._socket: SocketPassage | None = None
        self._pouring = False
        """Whether the answer cannot be followed: what comes is passed on to its end."""
        self._client_over = self._over = False
        self.refused = ""
        """Why the client is served nothing."""

    @property
    def full(self) -> bool:
        """Whether the client should pause."""
        if self._socket is not None:
            return self._socket.full
        one = self._one
        unsent = 0 if one is None or one.gated else sum(map(len, one.waiting))
        return len(self._held) + unsent > MAX_READ_AHEAD

    def client_data(self, data: bytes, at: float) -> None:
        """Handle data from the client."""
        if self._over:
            return
        if self._socket is not None:
            self._socket.client_data(data, at)
            return
        self._held = self._held + data if self._held else data
        self._process(at)
        if self._pouring and self._held:
            # The end of the answer is unknown, and so which one the next request would get.
            self._end(abort=True)

    def client_ended(self, at: float, gone: bool) -> None:
        """Handle the end of the client's half; it waits for its answer, unless it is `gone`."""
        if self._over or self._client_over:
            return
        self._client_over = True
        if self._socket is not None:
            self._socket.client_ended(at)
        elif gone and self._one is not None:
            self.client_lost(at)
        else:
            self._end_client_data(at)

    def _end_client_data(self, at: float) -> None:
        """Handle the end of the client's data: an incomplete request is not answered."""
        if self._one is not None:
            if not self._one.body.done:
                self.client_lost(at)
        elif self._held.strip():
            self._refuse(400, "a head that breaks off", at)
        else:
            self._end()

    def client_lost(self, at: float) -> None:
        """Handle the end of the client's connection."""
        if not self._over:
            self._over_with(at, GONE)
            self._end(abort=True)

    def connected(self, at: float) -> None:
        """Handle the open provider connection."""
        one = self._one
        if one is None or self._over:
            return
        one.connected = True
        if one.waiting:
            self._ends.to_provider(b"".join(one.waiting))
            one.waiting.clear()
        self._process(at)

    def not_connected(self, why: str, at: float) -> None:
        """Handle a failed provider connection."""
        if self._one is not None and not self._over:
            self._refuse(502, f"{self._one.upstream.origin} cannot be reached: {why}", at)

    def decided(self, verdict: RequestVerdict, at: float) -> None:
        """Apply the gate's verdict."""
        one = self._one
        if self._over or one is None:
            return
        if self._socket is not None:
            self._socket.decided(verdict, at)
            return
        one.deciding = False
        one.apply_verdict(verdict, at)
        if verdict.answer is None:
            self._ends.open(one.upstream)
            return
        self._answer_locally(one, verdict.answer, at)

    def _answer_locally(self, one: Exchange, answer: bytes, at: float) -> None:
        """Answer for the provider: the request is never sent. It is recorded like any other."""
        raw, end, said = answer.partition(http1.END)
        head = http1.read_head(raw + end)
        if one.early is None:
            self._ends.to_client(answer)
        else:
            one.early.begin_provider_answer(http1.status_of(head), head)
            self._ends.to_client(one.early.add_provider_data(said) + one.early.end())
        one.tell(AnswerBegun(one.x, at, http1.status_of(head), head.fields))
        one.tell(AnswerBytes(one.x, at, said))
        one.end(at)
        self._end()

    def _alive(self, ping: bytes, as_event: AsEvent, at: float) -> bool:
        """Keep the client of the waiting request from giving up."""
        one = self._one
        if self._over or one is None or not one.deciding or self._socket is not None:
            return False
        begun = b""
        if one.early is None:
            one.early = EarlyAnswer(as_event)
            begun = one.early.begin()
        self._ends.to_client(begun + one.early.encode_piece(ping))
        return True

    def undecided(self, error: Exception, at: float) -> None:
        """Handle a fault of the gate."""
        one = self._one
        if self._over or one is None:
            return
        if self._socket is not None:
            self._socket.undecided(error, at)
            return
        one.deciding = False
        one.pass_unchanged(error, at)
        self._ends.open(one.upstream)

    def provider_data(self, data: bytes, at: float) -> None:
        """Handle data from the provider."""
        if self._over:
            return
        one = self._one
        if self._socket is not None:
            self._socket.provider_data(data, at)
        elif self._pouring:
            self._ends.to_client(data)
        elif one is None:
            # Unrequested: it must not become the answer to the next request.
            self._end(abort=True)
        else:
            try:
                if one.answer is None:
                    self._came += data
                    self._answer_head(one, at)
                else:
                    self._pass_on(one, data, one.answer.feed(data), at)
            except Malformed as error:
                one.end(at, f"not recorded from here on: {error}")
                if one.early is not None:
                    # Unreadable data cannot continue the started stream.
                    self._end(abort=True)
                    return
                self._pouring = True
                data, self._came = self._came or data, b""
                self._ends.to_client(data)

    def provider_ended(self, at: float, broken: bool = False) -> None:
        """Handle the end of the provider's data, or a `broken` connection."""
        if self._over:
            return
        one = self._one
        if self._socket is not None:
            self._socket.provider_ended(at)
            return
        if one is not None:
            whole = one.answer is not None and not broken and one.answer.end()
            if self._came and one.early is None:
                # An incomplete head.
                self._ends.to_client(self._came)
            if whole and one.early is not None and not one.ended:
                self._ends.to_client(one.early.end())
            one.end(at, "" if whole else CUT)
        # As the client would see it from the provider.
        self._over = True
        (self._ends.break_off if broken else self._ends.end)()

    def close(self, at: float) -> None:
        """Close because ctxtui ends."""
        if not self._over:
            self._over_with(at, "ctxtui ended")
            self._over = True

    def _over_with(self, at: float, why: str) -> None:
        if self._socket is not None:
            self._socket.close(at)
        elif self._one is not None:
            self._one.end(at, why)

    def _process(self, at: float) -> None:
        """Process the client's buffered data."""
        try:
            while self._held and not self._over and self._next(at):
                pass
        except Malformed as error:
            self._refuse(400, str(error), at)

    def _next(self, at: float) -> bool:
        """Process one step; returns whether there may be another one. Raises `Malformed`."""
        one = self._one
        if one is None:
            head = self._head()
            if head is not None:
                self._begin(head, at)
            return head is not None
        if not one.body.done:
            self._body(one, at)
        return False

    def _body(self, one: Exchange, at: float) -> None:
        """Process more of a request's body. Raises `Malformed`."""
        data, self._held, said = one.split_body(self._held)
        if one.connected:
            self._ends.to_provider(data)
        else:
            one.waiting.append(data)
        one.tell_body(said, at)
        if one.gated and one.is_too_large:
            one.let_pass()
            self._ends.open(one.upstream)
        elif one.gated and one.is_whole:
            one.deciding = True
            self._ends.ask(one.to_waiting_request(self._alive if accepts_chunks(one.head) else None))

    def _head(self) -> Head | None:
        """The next complete head. Raises `Malformed`."""
        if self._held[:1] in b"\r\n":
            self._held = self._held.lstrip(b"\r\n")
        found = http1.next_head(self._held)
        head, self._held = found or (None, self._held)
        return head

    def _begin(self, head: Head, at: float) -> None:
        """Begin a request with its head. Raises `Malformed`."""
        asked = http1.request_line(head)
        why = "" if self._route.strangers else foreign_header(head)
        if why or self.refused:
            self._refuse(403, self.refused or f"{ONLY_HERE}; this came with {why!r}", at)
            return
        try:
            upstream, target = self._route.upstream(asked.target)
        except Malformed as error:
            self._refuse(404, str(error), at)
            return
        ours = self._route.should_record(head, target)
        one = Exchange(
            x=self._route.name(),
            tell=self._route.tell if ours else _discard,
            upstream=upstream,
            head=head,
            method=asked.method,
            target=target,
            asked=asked.target,
            body=http1.request_body(head),
        )
        self._one = one
        one.begin(at)
        self._wants = self._route.wants if ours else None
        one.gated = self._wanted(one, at)
        if not one.gated:
            # Sent in one piece with its received body, and reported after sending.
            data, self._held, said = one.split_body(self._held)
            one.waiting += [one.head_bytes(), data]
            self._ends.open(upstream)
            if said or one.body.done:
                one.tell_body(said, at)

    def _wanted(self, one: Exchange, at: float) -> bool:
        wants = self._wants
        if wants is None or one.body.done or one.head.get("expect"):
            return False
        try:
            gated = wants(one.head, one.url)
            one.unread = gated and one.is_too_large
            return gated and not one.unread
        except Exception as error:  # noqa: BLE001 - the boundary: a fault of ours must not stop a request
            one.pass_unchanged(error, at)
            one.waiting.clear()
            return False

    def _answer_head(self, one: Exchange, at: float) -> None:
        """Process more of an answer's head, or of interim ones (``100 Continue``). Raises `Malformed`.

        Received data that was not passed on is kept.
        """
        while self._came:
            found = http1.next_head(self._came)
            if found is None:
                return
            head, rest = found
            status = http1.status_of(head)
            one.heads += 1
            if one.heads > MAX_EARLY_HEADS or (status == 101 and not one.head.get("upgrade")):
                raise Malformed("heads that nobody asked for")
            body = http1.answer_body(head, status, one.method)
            if status >= 200:
                if one.early is not None:
                    one.early.begin_provider_answer(status, head)
                fed = body.feed(rest)
                one.answer, one.answer_head, self._came = body, head, b""
                self._pass_on(one, rest, fed, at, head)
                return
            if one.early is None:
                self._ends.to_client(head.raw)
            self._came = rest
            if status == 101:
                one.answer, one.answer_head, self._came = body, head, b""
                one.tell(AnswerBegun(one.x, at, status, head.fields))
                self._switch_protocol(one, head, rest, at)
                return

    def _pass_on(self, one: Exchange, data: bytes, fed: tuple[int, bytes], at: float, head: Head | None = None) -> None:
        """Pass on more of an answer, of which `fed` bytes are its body's; with its head if that has just arrived.

        Reported after sending.
        """
        body = one.answer
        assert body is not None
        taken, said = fed
        if taken < len(data):
            data, self._came = data[:taken], data[taken:]
        if one.early is not None:
            self._ends.to_client(one.early.add_provider_data(said) + (one.early.end() if body.done else b""))
        else:
            self._ends.to_client(head.raw + data if head is not None else data)
        if head is not None:
            one.tell(AnswerBegun(one.x, at, http1.status_of(head), head.fields))
        if said:
            one.tell(AnswerBytes(one.x, at, said))
        if body.done:
            self._end_answer(one, at)

    def _end_answer(self, one: Exchange, at: float) -> None:
        """Handle the end of an answer."""
        one.end(at)
        if self._came or not one.may_continue:
            self._end()
            return
        self._one = None
        self._process(at)
        if self._client_over and not self._over:
            self._end_client_data(at)

    def _switch_protocol(self, one: Exchange, head: Head, rest: bytes, at: float) -> None:
        """Switch to another protocol."""
        self._socket = SocketPassage(one, head, self._ends, self._wants)
        if rest:
            self._socket.provider_data(rest, at)
        if self._held:
            held, self._held = self._held, b""
            self._socket.client_data(held, at)

    def _refuse(self, status: int, why: str, at: float) -> None:
        """Send an error answer and close the connection."""
        if self._one is not None:
            self._one.end(at, why)
            if self._one.answer is not None:
                # It has an answer already, which an error would corrupt.
                self._end()
                return
        told = build_error_answer(status, why)
        if self._one is not None and self._one.early is not None:
            told = self._one.early.end_with_error(status, told.partition(http1.END)[2])
        self._ends.to_client(told)
        self._end()

    def _end(self, *, abort: bool = False) -> None:
        self._over = True
        self._ends.end(abort)


def _discard(news: ExchangeEvent) -> None:
    """Discard events of requests that are not recorded."""
