"""The protocol of a connection that was upgraded to a WebSocket. No IO.

Frames are parsed and passed on as received. If the user's edits or a hold need a complete request, its frames are kept
until the gate has decided.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ctxtui.attach.exchange import Exchange
from ctxtui.attach.exchange_events import RequestDecided, SocketMessage
from ctxtui.attach.frames import WireFrame, encode_text_frame, make_readers, parse_extensions
from ctxtui.attach.gate import RequestVerdict, WaitingRequest
from ctxtui.attach.http1 import Head, to_socket_messages
from ctxtui.attach.route import Wants
from ctxtui.core.errors import Malformed
from ctxtui.wire.bounds import MAX_BODY_BYTES, MAX_READ_AHEAD_BYTES

if TYPE_CHECKING:
    from ctxtui.attach.connection import Connection

Members = dict[str, msgspec.Raw]
_MAX_RESPONSES: Final = 64
"""Maximum number of responses whose conversations are kept, as a later request may continue them."""
_MAX_CONVERSATION_BYTES: Final = 4 * MAX_BODY_BYTES
"""Maximum bytes of their conversations together."""
_members: Final = msgspec.json.Decoder(Members)
_items: Final = msgspec.json.Decoder(list[msgspec.Raw])
_PREVIOUS_ID: Final = "previous_response_id"
_ENDS: Final = ("response.completed", "response.incomplete", "response.done")


class _Context(Struct, frozen=True):
    """Items of a conversation after those of `before`.

    `altered`: the provider has other items instead; `size`: bytes of the whole conversation.
    """

    items: tuple[bytes, ...]
    before: _Context | None
    altered: bool
    size: int

    @classmethod
    def continue_from(
        cls, before: _Context | None, items: list[msgspec.Raw] | list[bytes], altered: bool = False
    ) -> _Context:
        own = tuple(map(bytes, items))
        return cls(own, before, altered, sum(map(len, own)) + (before.size if before is not None else 0))

    def all_items(self) -> list[bytes]:
        parts: list[tuple[bytes, ...]] = []
        context: _Context | None = self
        while context is not None:
            parts.append(context.items)
            context = context.before
        return [item for items in reversed(parts) for item in items]


class CompleteRequest(Struct, frozen=True):
    """A request together with the conversation that it continues, as JSON.

    `altered`: the provider has another version of that conversation; `lane`: the request's ``stream_id``.
    """

    body: bytes
    altered: bool
    lane: str


class SocketContext:
    """The conversations of one connection, as the client knows them."""

    def __init__(self) -> None:
        self._responses: OrderedDict[str, _Context] = OrderedDict()
        self._requests: dict[str, _Context] = {}
        self.altered = False
        """Whether a conversation of the provider differs from the client's."""

    def read_request(self, text: str) -> CompleteRequest | None:
        """The complete request of a client's message; None if it is no request that can be read.

        A message that continues an unknown response (of another connection, or discarded) is returned incomplete.
        """
        try:
            fields = _members.decode(text)
            if _string_member(fields, "type") != "response.create":
                return None
            previous_id, lane = _string_member(fields, _PREVIOUS_ID), _string_member(fields, "stream_id")
            items = _input_items(fields)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return None
        before = self._responses.get(previous_id)
        if previous_id and before is None:
            self._requests.pop(lane, None)
            return CompleteRequest(text.encode(), False, lane)
        context = self._requests[lane] = _Context.continue_from(before, items)
        if len(self._requests) > _MAX_RESPONSES:
            del self._requests[next(iter(self._requests))]
        members = {name: bytes(value) for name, value in fields.items() if name != _PREVIOUS_ID}
        members["input"] = b"[" + b",".join(context.all_items()) + b"]"
        body = b"{" + b",".join(msgspec.json.encode(name) + b":" + value for name, value in members.items()) + b"}"
        return CompleteRequest(body if previous_id else text.encode(), before is not None and before.altered, lane)

    def record_altered(self, lane: str) -> None:
        """Record that the provider gets another request than the last one of `lane`, or none."""
        if lane in self._requests:
            self._requests[lane] = replace(self._requests[lane], altered=True)

    def record_response(self, text: str, lane: str | None = None) -> None:
        """Handle a provider's message about the last request of `lane` (None: as the message says)."""
        if not any(f'"{kind}"' in text[:400] for kind in _ENDS):
            return
        try:
            event = _members.decode(text)
            response = _members.decode(event["response"])
            id_, lane = _string_member(response, "id"), _string_member(event, "stream_id") if lane is None else lane
            items = _items.decode(response["output"]) if "output" in response else []
        except (msgspec.DecodeError, KeyError, UnicodeError, RecursionError):
            return
        before = self._requests.get(lane)
        if before is None or not id_:
            return
        self._responses[id_] = _Context.continue_from(before, items, before.altered)
        while (
            len(self._responses) > _MAX_RESPONSES
            or sum(context.size for context in self._responses.values()) > _MAX_CONVERSATION_BYTES
        ):
            self._responses.popitem(last=False)
        self.altered = any(context.altered for context in self._responses.values())


def _string_member(members: Members, name: str) -> str:
    value = msgspec.json.decode(members[name]) if name in members else ""
    return value if isinstance(value, str) else ""


def _input_items(members: Members) -> list[bytes]:
    raw = bytes(members["input"]) if "input" in members else b"[]"
    if raw.lstrip().startswith(b'"'):
        return [b'{"type":"message","role":"user","content":' + raw + b"}"]
    return [bytes(item) for item in _items.decode(raw)]


_TEXT_OPCODE: Final = 1
"""The opcode of a text message's first frame."""


class SocketPassage:
    """The data after ``101 Switching Protocols``.

    Protocols other than WebSocket are passed on unread.
    """

    def __init__(self, exchange: Exchange, head: Head, connection: Connection, wants: Wants | None) -> None:
        self._exchange = exchange
        self._connection = connection
        self._wants = wants
        self._deflate = parse_extensions(head.get("sec-websocket-extensions"))
        self._client_frames, self._provider_frames = make_readers(self._deflate)
        self._reads_client = self._reads_provider = head.get("upgrade").lower() == "websocket"
        self._context = SocketContext()
        self._passed_bytes = 0
        """Bytes of the incomplete frame that were passed on already."""
        self._held_frames: list[WireFrame] | None = None
        """Held frames of the current message; None if frames are passed on as they arrive."""
        self._request: CompleteRequest | None = None
        """The request that waits for the gate's verdict."""
        self._held_text = ""
        self._has_diverged = False
        """Whether the provider received other compressed text than the client sent.

        The client's later compressed frames may refer to text that the provider never received.
        """
        self._own_answers: list[str] = []

    @property
    def is_full(self) -> bool:
        """Whether the client should pause."""
        return self._request is not None and len(self._client_frames.rest) > MAX_READ_AHEAD_BYTES

    def client_data(self, data: bytes, at: float) -> None:
        """Handle bytes from the client: pass on complete frames, or hold them."""
        if not self._reads_client:
            self._connection.to_provider(data)
            return
        self._client_frames.rest += data
        self._process(at)

    def provider_data(self, data: bytes, at: float) -> None:
        """Pass on bytes from the provider, and read the messages in them."""
        self._connection.to_client(data)
        if not self._reads_provider:
            return
        try:
            for text in self._provider_frames.feed(data):
                self._exchange.tell(SocketMessage(self._exchange.x, at, False, text))
                self._context.record_response(text)
        except Malformed:
            # Already passed on: only the recording of this direction ends.
            self._reads_provider = False
        self._send_own_answers(at)

    def decided(self, verdict: RequestVerdict, at: float) -> None:
        """Send the held message, or another one, or answer the client, as the gate decided."""
        request = self._request
        if request is None:
            return
        self._request = None
        if verdict.report or verdict.body is not None:
            self._exchange.tell(RequestDecided(self._exchange.x, at, verdict.body, verdict.report))
        if verdict.answer is not None:
            self._context.record_altered(request.lane)
            for text in to_socket_messages(verdict.answer):
                # The client may continue it.
                self._context.record_response(text, request.lane)
                self._own_answers.append(text)
            self._take_held_frames()
            self._send_own_answers(at)
        elif verdict.body is not None:
            self._context.record_altered(request.lane)
            self._send_instead(verdict.body)
        elif request.altered:
            self._send_instead(request.body)
        else:
            self._send_client_message()
        self._process(at)

    def close(self, at: float) -> None:
        self._exchange.end(at)

    def end(self, at: float) -> None:
        """End the exchange and both connections."""
        self._exchange.end(at)
        self._connection.end()

    def _process(self, at: float) -> None:
        frames = self._client_frames
        try:
            while self._request is None and self._reads_client:
                rest = frames.rest
                # Decide at the first byte of a message, which may be incomplete.
                if rest and rest[0] & 15 == _TEXT_OPCODE and self._held_frames is None and not self._passed_bytes:
                    self._held_frames = [] if self._must_hold(bool(rest[0] & 0x40)) else None
                frame = frames.next_frame()
                if frame is None:
                    break
                self._process_frame(frame, at)
        except Malformed:
            # Pass on everything unread from here on.
            self._reads_client = False
            for held_frame in self._held_frames or ():
                self._connection.to_provider(held_frame.raw)
            self._held_frames = None
            self._pass_on(frames.rest)
        if self._request is None and self._reads_client and self._held_frames is None:
            self._pass_on(frames.rest)
            self._passed_bytes = len(frames.rest)

    def _pass_on(self, data: bytes | bytearray) -> None:
        """Pass on the rest of the frame `data`."""
        if len(data) > self._passed_bytes:
            self._connection.to_provider(bytes(data[self._passed_bytes :] if self._passed_bytes else data))

    def _must_hold(self, compressed: bool) -> bool:
        if self._context.altered or (self._has_diverged and compressed):
            return True
        try:
            return self._wants is not None and self._wants(self._exchange.head)
        except Exception:  # noqa: BLE001 - the boundary: a fault of ours must not stop a message
            return False

    def _process_frame(self, frame: WireFrame, at: float) -> None:
        """Process a complete frame of the client. Raises `Malformed`."""
        if frame.is_control or self._held_frames is None:
            self._pass_on(frame.raw)
            self._passed_bytes = 0
        else:
            self._held_frames.append(frame)
        text = self._client_frames.add_frame(frame)
        if text is None:
            return
        self._exchange.tell(SocketMessage(self._exchange.x, at, True, text))
        request = self._context.read_request(text)
        if self._held_frames is None:
            return
        self._held_text = text
        if request is None:
            self._send_client_message()
            return
        self._request = request
        self._connection.ask(
            WaitingRequest(x=self._exchange.x, url=self._exchange.url, head=self._exchange.head, body=request.body)
        )

    def _take_held_frames(self) -> list[WireFrame]:
        """Remove and return the held frames, which are not sent as they are."""
        frames, self._held_frames = self._held_frames or [], None
        self._has_diverged |= self._client_frames.is_compressed and self._deflate.client_takeover
        return frames

    def _send_client_message(self) -> None:
        """Send the held frames, or their text encoded anew if they depend on unsent ones."""
        if self._has_diverged and self._client_frames.is_compressed:
            self._send_instead(self._held_text.encode())
            return
        frames, self._held_frames = self._held_frames or [], None
        for frame in frames:
            self._connection.to_provider(frame.raw)

    def _send_instead(self, text: bytes) -> None:
        """Send another message instead of the client's."""
        frames = self._take_held_frames()
        self._connection.to_provider(
            encode_text_frame(
                text, frames[0].mask, compressed=self._client_frames.is_compressed, bits=self._deflate.bits
            )
        )

    def _send_own_answers(self, at: float) -> None:
        """Send ctxtui's own answers, between the provider's messages."""
        if not self._provider_frames.is_within_message:
            for text in self._own_answers:
                self._exchange.tell(SocketMessage(self._exchange.x, at, False, text))
                self._connection.to_client(encode_text_frame(text.encode()))
            self._own_answers.clear()
