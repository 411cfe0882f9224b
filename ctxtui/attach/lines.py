"""Lines of an attached recording (read by `transcripts/formats/attached`).

A body is written as the difference from an earlier one, as agents resend their whole history with every request; keys
are masked.
"""

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
"""Headers whose names suggest secrets but whose values are none."""
_QUERY: Final = re.compile(
    r"([?&;](?:[\w.-]*(?:key|token|secret|sig|signature|auth|password)[\w.-]*)=)[^&;#]+", re.IGNORECASE
)
_SCHEME: Final = re.compile(r"^(?:bearer|basic|token)\s+", re.IGNORECASE)

Fields = Iterable[tuple[str, str]]


def is_secret(name: str) -> bool:
    """Whether the values of a header `name` are kept out of every record."""
    return bool(_SECRET.search(name)) and not _OPEN.search(name)


def mask_fields(fields: Fields) -> list[tuple[str, str]]:
    """Headers with masked secrets, for the record."""
    return [(name, MASKED if is_secret(name) else value) for name, value in fields]


def mask_url(url: str) -> str:
    """A URL for the record: without user and password, and without keys in its query."""
    scheme, found, rest = url.partition("://")
    if found and "@" in rest.partition("/")[0]:
        host, slash, path = rest.partition("/")
        url = f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"
    return _QUERY.sub(rf"\1{MASKED}", url)


def mask_for(fields: Fields) -> KeyMask:
    """Make the mask that keeps the keys in these headers out of bodies: a provider may repeat one."""
    keys = [_SCHEME.sub("", value) for name, value in fields if is_secret(name)]
    first, *further = keys or [""]
    return KeyMask(first, *further)


_MAX_KEPT_BYTES: Final = 32 << 20
"""Maximum bytes of earlier bodies kept for comparison, except that the newest is always kept."""
_STEP: Final = 1 << 16
_encode: Final = msgspec.json.Encoder().encode


def encode_line(**members: Json) -> bytes:
    """Encode one line, without empty members."""
    return bytes(_encode({name: value for name, value in members.items() if value not in ("", None, [], {})})) + b"\n"


def encode_bytes(data: bytes) -> dict[str, Json]:
    """Encode bytes for JSON: their text, or base64 if they are no text."""
    try:
        return {"text": data.decode("utf-8")}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode("ascii")}


def encode_answer_line(x: str, at: float, data: bytes) -> bytes:
    """Encode the line of a non-empty piece of an answer."""
    try:
        return bytes(_encode({"x": x, "at": at, "data": data.decode("utf-8")})) + b"\n"
    except UnicodeDecodeError:
        return encode_line(x=x, at=at, data=base64.b64encode(data).decode("ascii"), base64=True)


def digest(data: bytes) -> str:
    """Digest that proves that bytes are equal."""
    return hashlib.sha256(data).hexdigest()


class Likeness(NamedTuple):
    """The `head` first and `tail` last bytes of a body equal those of the body with this `number`."""

    number: int
    head: int
    tail: int


def common_head(one: bytes, other: bytes) -> int:
    """Number of common leading bytes."""
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
            # In here: halve the step.
            step = max(1, (stop - at) // 2)
    return at


def common_tail(one: bytes, other: bytes, most: int) -> int:
    """Number of common trailing bytes, at most `most`."""
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


def find_most_similar(body: bytes, before: Sequence[bytes]) -> Likeness | None:
    """The body in `before` that saves most of `body`; None if none saves a third.

    Cuts are between UTF-8 characters.
    """
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
    """The bodies of one recording, each written as a difference."""

    def __init__(self) -> None:
        self._before: OrderedDict[str, bytes] = OrderedDict()

    def encode(self, name: str, said: bytes, wire: bytes, encoding: str) -> dict[str, Json]:
        """Encode the body `said` of exchange `name`, sent as the bytes `wire`, packed as `encoding`."""
        made: dict[str, Json] = {"size": len(wire), "sha256": digest(wire)}
        if encoding:
            made["encoding"] = encoding
        names = list(reversed(self._before))
        found = find_most_similar(said, [self._before[one] for one in names])
        if found is None:
            made |= encode_bytes(said)
        else:
            own = said[found.head : len(said) - found.tail]
            made |= {"like": names[found.number], "head": found.head, "tail": found.tail, **encode_bytes(own)}
            # Later bodies extend the new one. Readers discard by the same rule.
            del self._before[names[found.number]]
        self._before[name] = said
        while len(self._before) > MAX_REFERENCED_BODIES or (len(self._before) > 1 and self.size > _MAX_KEPT_BYTES):
            self._before.popitem(last=False)
        return made

    @property
    def size(self) -> int:
        """Bytes kept for comparison."""
        return sum(map(len, self._before.values()))
