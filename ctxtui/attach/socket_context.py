"""What the provider at a WebSocket holds of a conversation: a client that names an earlier response sends only what is
new, and an edit may be about all of it. No IO."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ctxtui.wire.bounds import MAX_BODY

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
