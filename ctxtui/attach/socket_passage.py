"""A connection upgraded to a WebSocket: frames are passed on as received and parsed in passing.

If the user's edits or a hold need a complete request, it is kept until the decision. No IO.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ctxtui.attach.exchange import Exchange, fault_record
from ctxtui.attach.frames import WireFrame, encode_text_frame, make_readers, parse_extensions
from ctxtui.attach.gate import RequestVerdict, WaitingRequest
from ctxtui.attach.http1 import Head, to_socket_messages
from ctxtui.attach.news import RequestSent, SocketMessage
from ctxtui.attach.route import Wants
from ctxtui.core.errors import Malformed
from ctxtui.wire.bounds import MAX_BODY, MAX_READ_AHEAD

if TYPE_CHECKING:
    from ctxtui.attach.connection import Connection

Members = dict[str, msgspec.Raw]
_MAX_KEPT_RESPONSES: Final = 64
"""Maximum responses that a later request may continue."""
_MAX_KEPT_BYTES: Final = 4 * MAX_BODY
"""Maximum bytes of their conversations together."""
_members: Final = msgspec.json.Decoder(Members)
_items: Final = msgspec.json.Decoder(list[msgspec.Raw])
_EARLIER: Final = "previous_response_id"
_ENDS: Final = ("response.completed", "response.incomplete", "response.done")


class _Context(Struct, frozen=True):
    """Items of a conversation after those of `before`.

    `altered`: the provider has other items instead; `size` are the bytes of the whole conversation.
    """

    items: tuple[bytes, ...]
    before: _Context | None
    altered: bool
    size: int

    @classmethod
    def behind(cls, before: _Context | None, items: list[msgspec.Raw] | list[bytes], altered: bool = False) -> _Context:
        """A context that continues `before`."""
        own = tuple(map(bytes, items))
        return cls(own, before, altered, sum(map(len, own)) + (before.size if before is not None else 0))

    def all(self) -> list[bytes]:
        found: list[tuple[bytes, ...]] = []
        at: _Context | None = self
        while at is not None:
            found.append(at.items)
            at = at.before
        return [item for items in reversed(found) for item in items]


class CompleteRequest(Struct, frozen=True):
    """A complete request with everything that it continues, as JSON.

    `altered`: the provider's conversation differs from the client's; `lane` is the conversation within the connection.
    """

    body: bytes
    altered: bool
    lane: str


class SocketContext:
    """The conversations of one connection, as the client knows them."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, _Context] = OrderedDict()
        self._asked: dict[str, _Context] = {}
        self.altered = False
        """Whether a conversation of the provider differs from the client's."""

    def asked(self, text: str) -> CompleteRequest | None:
        """The complete request of a client's message; None if it is no request.

        Unchanged if it continues an unknown response (of another connection).
        """
        try:
            told = _members.decode(text)
            if _word(told, "type") != "response.create":
                return None
            earlier, lane = _word(told, _EARLIER), _word(told, "stream_id")
            items = _input(told)
        except (msgspec.DecodeError, UnicodeError):
            return None
        before = self._known.get(earlier)
        if earlier and before is None:
            self._asked.pop(lane, None)
            return CompleteRequest(text.encode(), False, lane)
        context = self._asked[lane] = _Context.behind(before, items)
        if len(self._asked) > _MAX_KEPT_RESPONSES:
            del self._asked[next(iter(self._asked))]
        members = {name: bytes(value) for name, value in told.items() if name != _EARLIER}
        members["input"] = b"[" + b",".join(context.all()) + b"]"
        body = b"{" + b",".join(msgspec.json.encode(name) + b":" + value for name, value in members.items()) + b"}"
        return CompleteRequest(body if earlier else text.encode(), before is not None and before.altered, lane)

    def sent(self, lane: str, altered: bool) -> None:
        """Record what was sent for the last request of `lane`: the client's own conversation, or an altered one."""
        one = self._asked.get(lane)
        if one is not None and one.altered != altered:
            self._asked[lane] = replace(one, altered=altered)

    def told(self, text: str, lane: str | None = None) -> None:
        """Handle a provider's message about the last request of `lane` (None: the message names it)."""
        if not any(f'"{kind}"' in text[:400] for kind in _ENDS):
            return
        try:
            event = _members.decode(text)
            response = _members.decode(event["response"])
            id_, lane = _word(response, "id"), _word(event, "stream_id") if lane is None else lane
            items = _items.decode(response["output"]) if "output" in response else []
        except (msgspec.DecodeError, KeyError, UnicodeError):
            return
        one = self._asked.get(lane)
        if one is None or not id_:
            return
        self._known[id_] = _Context.behind(one, items, one.altered)
        while (
            len(self._known) > _MAX_KEPT_RESPONSES
            or sum(context.size for context in self._known.values()) > _MAX_KEPT_BYTES
        ):
            self._known.popitem(last=False)
        self.altered = any(context.altered for context in self._known.values())


def _word(members: Members, name: str) -> str:
    found = msgspec.json.decode(members[name]) if name in members else ""
    return found if isinstance(found, str) else ""


def _input(told: Members) -> list[bytes]:
    raw = bytes(told["input"]) if "input" in told else b"[]"
    if raw.lstrip().startswith(b'"'):
        return [b'{"type":"message","role":"user","content":' + raw + b"}"]
    return [bytes(item) for item in _items.decode(raw)]


_START: Final = 1
"""The opcode of a text message's first frame."""


class SocketPassage:
    """The data after ``101 Switching Protocols``. Other protocols than WebSocket pass unread."""

    def __init__(self, one: Exchange, head: Head, ends: Connection, wants: Wants | None) -> None:
        self._one = one
        self._ends = ends
        self._wants = wants
        self._deflate = parse_extensions(head.get("sec-websocket-extensions"))
        self._asked, self._told = make_readers(self._deflate)
        self._reads = self._hears = head.get("upgrade").lower() == "websocket"
        self._context = SocketContext()
        self._passed = 0
        """Bytes of the frame at hand that have been passed on already."""
        self._kept: list[WireFrame] | None = None
        """The frames of a message that has to be whole before it leaves; None where they are passed on as they come."""
        self._whole: CompleteRequest | None = None
        """The request that the gate is asked about."""
        self._text = ""
        self._ours = False
        """Whether the provider has unpacked other words than the client's: what the client packs may refer to what it
        never got."""
        self._to_say: list[bytes] = []

    @property
    def full(self) -> bool:
        """Whether the client should pause."""
        return self._whole is not None and len(self._asked.rest) > MAX_READ_AHEAD

    def client_data(self, data: bytes, at: float) -> None:
        """Handle data from the client."""
        if not self._reads:
            self._ends.to_provider(data)
            return
        self._asked.add(data)
        self._go_on(at)

    def client_ended(self, at: float) -> None:
        """Handle the end of the client's data."""
        self._end(at)

    def provider_data(self, data: bytes, at: float) -> None:
        """Handle data from the provider."""
        self._ends.to_client(data)
        if not self._hears:
            return
        try:
            for text in self._told.feed(data):
                self._one.tell(SocketMessage(self._one.x, at, False, text))
                self._context.told(text)
        except Malformed:
            # Passed on all the same.
            self._hears = False
        self._say(at)

    def provider_ended(self, at: float) -> None:
        """Handle the end of the provider's data."""
        self._end(at)

    def decided(self, verdict: RequestVerdict, at: float) -> None:
        """Apply the verdict on the held request."""
        whole = self._whole
        if whole is None:
            return
        self._whole = None
        if verdict.told or verdict.body is not None:
            self._one.tell(RequestSent(self._one.x, at, verdict.body, verdict.told))
        if verdict.answer is not None:
            self._to_say += self._answered(whole, to_socket_messages(verdict.answer))
            self._kept = None
            self._say(at)
        elif verdict.body is not None:
            self._context.sent(whole.lane, altered=True)
            self._put(verdict.body)
        else:
            self._own(whole)
        self._go_on(at)

    def _answered(self, whole: CompleteRequest, events: list[str]) -> list[bytes]:
        """Handle ctxtui's own answer, which the client may continue although its provider does not know it."""
        self._context.sent(whole.lane, altered=True)
        for text in events:
            self._context.told(text, whole.lane)
        return [text.encode() for text in events]

    def undecided(self, error: Exception, at: float) -> None:
        """Handle a fault of the gate: send the client's own request."""
        if self._whole is not None:
            self._one.tell(RequestSent(self._one.x, at, None, fault_record(error)))
            whole, self._whole = self._whole, None
            self._own(whole)
            self._go_on(at)

    def close(self, at: float) -> None:
        """End the exchange."""
        self._one.end(at)

    def _end(self, at: float) -> None:
        self._one.end(at)
        self._ends.end()

    def _go_on(self, at: float) -> None:
        """Process the client's buffered data."""
        asked = self._asked
        try:
            while self._whole is None and self._reads:
                rest = asked.rest
                # Part of the beginning of a message may be here.
                if rest and rest[0] & 15 == _START and self._kept is None and not self._passed:
                    self._kept = [] if self._has_to_be_whole(bool(rest[0] & 0x40)) else None
                frame = asked.frame()
                if frame is None:
                    break
                self._frame(frame, at)
        except Malformed:
            # Passed on all the same, unread from here on.
            self._reads = False
            self._give_up()
        if self._whole is None and self._reads and self._kept is None:
            self._pass_on(asked.rest)
            self._passed = len(asked.rest)

    def _give_up(self) -> None:
        for frame in self._kept or ():
            self._ends.to_provider(frame.raw)
        self._kept = None
        self._pass_on(self._asked.rest)

    def _pass_on(self, data: bytes | bytearray) -> None:
        """Pass on the rest of the frame `data`."""
        if len(data) > self._passed:
            self._ends.to_provider(bytes(data[self._passed :] if self._passed else data))

    def _has_to_be_whole(self, packed: bool) -> bool:
        if self._context.altered or (self._ours and packed):
            return True
        try:
            return self._wants is not None and self._wants(self._one.head, self._one.url)
        except Exception:  # noqa: BLE001 - the boundary: a fault of ours must not stop a message
            return False

    def _frame(self, frame: WireFrame, at: float) -> None:
        """Process a complete frame of the client. Raises `Malformed`."""
        if frame.is_control or self._kept is None:
            self._pass_on(frame.raw)
            self._passed = 0
        else:
            self._kept.append(frame)
        text = self._asked.message(frame)
        if text is None:
            return
        self._one.tell(SocketMessage(self._one.x, at, True, text))
        whole = self._context.asked(text)
        if self._kept is None:
            return
        self._text = text
        if whole is None or not self._asks():
            self._put_own()
            return
        self._whole = whole
        self._ends.ask(WaitingRequest(x=self._one.x, url=self._one.url, head=self._one.head, body=whole.body))

    def _asks(self) -> bool:
        return self._wants is not None

    def _own(self, whole: CompleteRequest) -> None:
        """Send the client's own request: complete if the provider would continue another conversation."""
        self._context.sent(whole.lane, altered=False)
        if whole.altered:
            self._put(whole.body)
        else:
            self._put_own()

    def _put_own(self) -> None:
        """Send the client's own message: its frames, or re-encoded if they depend on unsent ones."""
        kept = self._kept or []
        if self._ours and self._asked.packed:
            self._put(self._text.encode())
            return
        self._kept = None
        for frame in kept:
            self._ends.to_provider(frame.raw)

    def _put(self, text: bytes) -> None:
        """Send another message instead of the client's."""
        kept, self._kept = self._kept or [], None
        packed = self._asked.packed
        self._ours = self._ours or (packed and self._deflate.client_takeover)
        mask = kept[0].mask if kept else b"\x00\x00\x00\x00"
        self._ends.to_provider(encode_text_frame(text, mask, packed=packed, bits=self._deflate.bits))

    def _say(self, at: float) -> None:
        """Send ctxtui's own answers, between the provider's frames."""
        if self._to_say and not self._told.rest:
            for text in self._to_say:
                self._one.tell(SocketMessage(self._one.x, at, False, text.decode()))
                self._ends.to_client(encode_text_frame(text))
            self._to_say.clear()
