"""A connection that has become a WebSocket: frames are passed on as they came, read on the way, and where the user's
edits or a hold want a request whole, kept until that is decided. No IO."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ctxtui.attach.exchange import Exchange, passed
from ctxtui.attach.frames import WireFrame, agreed, readers, text_frame
from ctxtui.attach.gate import RequestVerdict, WaitingRequest
from ctxtui.attach.http1 import Head, events_of
from ctxtui.attach.news import RequestSent, SocketMessage
from ctxtui.attach.route import Wants
from ctxtui.core.errors import Malformed
from ctxtui.wire.bounds import MAX_BODY, MAX_READ_AHEAD

if TYPE_CHECKING:
    from ctxtui.attach.connection import Connection

Members = dict[str, msgspec.Raw]
_KEPT: Final = 64
"""Responses that a later request may go on from."""
_MAX_KEPT: Final = 4 * MAX_BODY
"""Bytes of their conversations together."""
_members: Final = msgspec.json.Decoder(Members)
_items: Final = msgspec.json.Decoder(list[msgspec.Raw])
_EARLIER: Final = "previous_response_id"
_ENDS: Final = ("response.completed", "response.incomplete", "response.done")


class _Context(Struct, frozen=True):
    """Items of a conversation behind those of `before`. `altered`: the provider holds others in their place; `size` are
    the bytes of the whole conversation."""

    items: tuple[bytes, ...]
    before: _Context | None
    altered: bool
    size: int

    @classmethod
    def behind(cls, before: _Context | None, items: list[msgspec.Raw] | list[bytes], altered: bool = False) -> _Context:
        """What goes on from `before`."""
        own = tuple(map(bytes, items))
        return cls(own, before, altered, sum(map(len, own)) + (before.size if before is not None else 0))

    def all(self) -> list[bytes]:
        found: list[tuple[bytes, ...]] = []
        at: _Context | None = self
        while at is not None:
            found.append(at.items)
            at = at.before
        return [item for items in reversed(found) for item in items]


class Whole(Struct, frozen=True):
    """A request with everything that it goes on from, as its JSON. `altered` says that the provider holds another
    conversation than the client's, `lane` which of the conversations of a connection it is of."""

    body: bytes
    altered: bool
    lane: str


class SocketContext:
    """The conversations of one connection, as their client knows them."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, _Context] = OrderedDict()
        self._asked: dict[str, _Context] = {}
        self.altered = False
        """Whether the provider holds a conversation that is another one than the client's."""

    def asked(self, text: str) -> Whole | None:
        """A message of the client's: the whole request that it is, or as it says it where nobody knows what it goes on
        from (a response of another connection); None where it is none."""
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
            return Whole(text.encode(), False, lane)
        context = self._asked[lane] = _Context.behind(before, items)
        if len(self._asked) > _KEPT:
            del self._asked[next(iter(self._asked))]
        members = {name: bytes(value) for name, value in told.items() if name != _EARLIER}
        members["input"] = b"[" + b",".join(context.all()) + b"]"
        body = b"{" + b",".join(msgspec.json.encode(name) + b":" + value for name, value in members.items()) + b"}"
        return Whole(body if earlier else text.encode(), before is not None and before.altered, lane)

    def sent(self, lane: str, altered: bool) -> None:
        """What left for the last request of `lane`: the client's own conversation, or an altered one."""
        one = self._asked.get(lane)
        if one is not None and one.altered != altered:
            self._asked[lane] = replace(one, altered=altered)

    def told(self, text: str, lane: str | None = None) -> None:
        """A message of the provider's, about the last request of `lane` (None: the message says of which)."""
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
        while len(self._known) > _KEPT or sum(context.size for context in self._known.values()) > _MAX_KEPT:
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
    """What goes by after ``101 Switching Protocols``. Where it is no WebSocket, bytes go by unread."""

    def __init__(self, one: Exchange, head: Head, ends: Connection, wants: Wants | None) -> None:
        self._one = one
        self._ends = ends
        self._wants = wants
        self._deflate = agreed(head.get("sec-websocket-extensions"))
        self._asked, self._told = readers(self._deflate)
        self._reads = self._hears = head.get("upgrade").lower() == "websocket"
        self._context = SocketContext()
        self._passed = 0
        """Bytes of the frame at hand that have been passed on already."""
        self._kept: list[WireFrame] | None = None
        """The frames of a message that has to be whole before it leaves; None where they are passed on as they come."""
        self._whole: Whole | None = None
        """The request that the gate is asked about."""
        self._text = ""
        self._ours = False
        """Whether the provider has unpacked other words than the client's: what the client packs may refer to what it
        never got."""
        self._to_say: list[bytes] = []

    @property
    def full(self) -> bool:
        """Whether the client should say no more for now."""
        return self._whole is not None and len(self._asked.rest) > MAX_READ_AHEAD

    def client_data(self, data: bytes, at: float) -> None:
        """The client said something."""
        if not self._reads:
            self._ends.to_provider(data)
            return
        self._asked.add(data)
        self._go_on(at)

    def client_ended(self, at: float) -> None:
        """The client says nothing more."""
        self._end(at)

    def provider_data(self, data: bytes, at: float) -> None:
        """The provider said something."""
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
        """The provider says nothing more."""
        self._end(at)

    def decided(self, verdict: RequestVerdict, at: float) -> None:
        """What becomes of the request that was asked about."""
        whole = self._whole
        if whole is None:
            return
        self._whole = None
        if verdict.told or verdict.body is not None:
            self._one.tell(RequestSent(self._one.x, at, verdict.body, verdict.told))
        if verdict.answer is not None:
            self._to_say += self._answered(whole, events_of(verdict.answer))
            self._kept = None
            self._say(at)
        elif verdict.body is not None:
            self._context.sent(whole.lane, altered=True)
            self._put(verdict.body)
        else:
            self._own(whole)
        self._go_on(at)

    def _answered(self, whole: Whole, events: list[str]) -> list[bytes]:
        """The request got an answer of ctxtui's: the client may go on from it, and its provider knows nothing of it."""
        self._context.sent(whole.lane, altered=True)
        for text in events:
            self._context.told(text, whole.lane)
        return [text.encode() for text in events]

    def undecided(self, error: Exception, at: float) -> None:
        """The gate has a fault: the client's own request leaves."""
        if self._whole is not None:
            self._one.tell(RequestSent(self._one.x, at, None, passed(error)))
            whole, self._whole = self._whole, None
            self._own(whole)
            self._go_on(at)

    def close(self, at: float) -> None:
        """It is over."""
        self._one.end(at)

    def _end(self, at: float) -> None:
        self._one.end(at)
        self._ends.end()

    def _go_on(self, at: float) -> None:
        """Read on in what the client has said."""
        asked = self._asked
        try:
            while self._whole is None and self._reads:
                rest = asked.rest
                # The beginning of a message may be here in part.
                if rest and rest[0] & 15 == _START and self._kept is None and not self._passed:
                    self._kept = [] if self._has_to_be_whole(bool(rest[0] & 0x40)) else None
                frame = asked.frame()
                if frame is None:
                    break
                self._frame(frame, at)
        except Malformed:
            # Passed on all the same, from here on unread.
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
        """Pass on what has not been of the frame `data`."""
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
        """A whole frame of the client's. Raises `Malformed`."""
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

    def _own(self, whole: Whole) -> None:
        """The client's own request leaves: whole, where the provider would go on from another conversation."""
        self._context.sent(whole.lane, altered=False)
        if whole.altered:
            self._put(whole.body)
        else:
            self._put_own()

    def _put_own(self) -> None:
        """The client's own message leaves: as its frames, or said anew where they refer to what never left."""
        kept = self._kept or []
        if self._ours and self._asked.packed:
            self._put(self._text.encode())
            return
        self._kept = None
        for frame in kept:
            self._ends.to_provider(frame.raw)

    def _put(self, text: bytes) -> None:
        """Another message than the client's leaves in its place."""
        kept, self._kept = self._kept or [], None
        packed = self._asked.packed
        self._ours = self._ours or (packed and self._deflate.client_takeover)
        mask = kept[0].mask if kept else b"\x00\x00\x00\x00"
        self._ends.to_provider(text_frame(text, mask, packed=packed, bits=self._deflate.bits))

    def _say(self, at: float) -> None:
        """What ctxtui answers itself, between the provider's frames."""
        if self._to_say and not self._told.rest:
            for text in self._to_say:
                self._one.tell(SocketMessage(self._one.x, at, False, text.decode()))
                self._ends.to_client(text_frame(text))
            self._to_say.clear()
