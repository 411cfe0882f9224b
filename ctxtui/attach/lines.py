"""The lines of an attached recording, as they are written (`transcripts/formats/attached` reads them): a body is told
by one before it, for agents send their whole history again with every request; keys are masked."""

from __future__ import annotations

import base64
import hashlib
import re
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import msgspec

from ctxtui.core.canonical import Json
from ctxtui.transcripts.kit.http_exchange.line_kinds import MAX_REFERENCED_BODIES
from ctxtui.wire.key_mask import KeyMask

MASKED: Final = "<masked>"
_SECRET: Final = re.compile(r"auth|key|secret|token|cookie|credential|password|signature|session-token", re.IGNORECASE)
_OPEN: Final = re.compile(
    r"ratelimit|sec-websocket-(key|accept)$|idempotency-key$|max-tokens|authority$", re.IGNORECASE
)
"""Headers whose names sound like secrets and whose values are none."""
_QUERY: Final = re.compile(
    r"([?&;](?:[\w.-]*(?:key|token|secret|sig|signature|auth|password)[\w.-]*)=)[^&;#]+", re.IGNORECASE
)
_SCHEME: Final = re.compile(r"^(?:bearer|basic|token)\s+", re.IGNORECASE)

Fields = Iterable[tuple[str, str]]


def is_secret(name: str) -> bool:
    """Whether the values of a header called `name` are kept out of every record."""
    return bool(_SECRET.search(name)) and not _OPEN.search(name)


def shown(fields: Fields) -> list[tuple[str, str]]:
    """Headers as they are written down."""
    return [(name, MASKED if is_secret(name) else value) for name, value in fields]


def shown_url(url: str) -> str:
    """A URL as it is written down: without user and password, and without keys in its query."""
    scheme, found, rest = url.partition("://")
    if found and "@" in rest.partition("/")[0]:
        host, slash, path = rest.partition("/")
        url = f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"
    return _QUERY.sub(rf"\1{MASKED}", url)


def mask_for(fields: Fields) -> KeyMask:
    """What keeps the keys in these headers out of bodies: a provider may say one back."""
    keys = [_SCHEME.sub("", value) for name, value in fields if is_secret(name)]
    first, *further = keys or [""]
    return KeyMask(first, *further)


_MOST: Final = 32 << 20
"""Bytes of bodies that later ones are told by; the newest counts whatever its size."""
_STEP: Final = 1 << 16
_encode: Final = msgspec.json.Encoder().encode


def line(**members: Json) -> bytes:
    """One line, without members that are empty."""
    return bytes(_encode({name: value for name, value in members.items() if value not in ("", None, [], {})})) + b"\n"


def text_of(data: bytes) -> dict[str, Json]:
    """Bytes as JSON holds them: their text, or in base64 where they are none."""
    try:
        return {"text": data.decode("utf-8")}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode("ascii")}


def answer_line(x: str, at: float, data: bytes) -> bytes:
    """The line of a piece of an answer, which is not empty."""
    try:
        return bytes(_encode({"x": x, "at": at, "data": data.decode("utf-8")})) + b"\n"
    except UnicodeDecodeError:
        return line(x=x, at=at, data=base64.b64encode(data).decode("ascii"), base64=True)


def digest(data: bytes) -> str:
    """What proves that bytes are the same."""
    return hashlib.sha256(data).hexdigest()


class Likeness(NamedTuple):
    """The `head` first and `tail` last bytes of a body are those of the one with this `number`."""

    number: int
    head: int
    tail: int


def common_head(one: bytes, other: bytes) -> int:
    """How many bytes both begin with."""
    end = min(len(one), len(other))
    at = 0
    step = _STEP
    while at < end:
        stop = min(end, at + step)
        if one[at:stop] == other[at:stop]:
            at = stop
        elif stop - at == 1:
            return at
        else:
            # It lies in here: half of it, and half of that.
            step = max(1, (stop - at) // 2)
    return at


def common_tail(one: bytes, other: bytes, most: int) -> int:
    """How many bytes both end with, at most `most`."""
    end = min(len(one), len(other), most)
    at = 0
    step = _STEP
    while at < end:
        stop = min(end, at + step)
        if one[len(one) - stop : len(one) - at] == other[len(other) - stop : len(other) - at]:
            at = stop
        elif stop - at == 1:
            return at
        else:
            step = max(1, (stop - at) // 2)
    return at


def likest(body: bytes, before: Sequence[bytes]) -> Likeness | None:
    """Which of the bodies `before` spares most of `body`; None where none spares a third. Cuts lie between characters
    of UTF-8."""
    best: Likeness | None = None
    for number, other in enumerate(before):
        head = common_head(body, other)
        while head and head < len(body) and body[head] & 0xC0 == 0x80:
            head -= 1
        tail = common_tail(body, other, min(len(body), len(other)) - head)
        while tail and body[len(body) - tail] & 0xC0 == 0x80:
            tail -= 1
        if best is None or head + tail > best.head + best.tail:
            best = Likeness(number, head, tail)
    return best if best is not None and 3 * (best.head + best.tail) > len(body) else None


class RecordedBodies:
    """The bodies of one recording: each is written as what is new in it."""

    def __init__(self) -> None:
        self._before: OrderedDict[str, bytes] = OrderedDict()

    def told(self, name: str, said: bytes, wire: bytes, encoding: str) -> dict[str, Json]:
        """The body `said` of exchange `name`, which went over the wire as the bytes `wire`, packed as `encoding`."""
        made: dict[str, Json] = {"size": len(wire), "sha256": digest(wire)}
        if encoding:
            made["encoding"] = encoding
        names = list(reversed(self._before))
        found = likest(said, [self._before[one] for one in names])
        if found is None:
            made |= text_of(said)
        else:
            own = said[found.head : len(said) - found.tail]
            made |= {"like": names[found.number], "head": found.head, "tail": found.tail, **text_of(own)}
            # Whoever goes on goes on from the new one. Readers forget by the same rule.
            del self._before[names[found.number]]
        self._before[name] = said
        while len(self._before) > MAX_REFERENCED_BODIES or (len(self._before) > 1 and self.size > _MOST):
            self._before.popitem(last=False)
        return made

    @property
    def size(self) -> int:
        """Bytes that are kept for later ones."""
        return sum(map(len, self._before.values()))
