"""Lines of an attached recording (read by `transcripts/formats/attached`).

A body is written as the difference from a similar earlier one, as agents resend their whole history with every request.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

import msgspec

from ctxtui.core.canonical import Json
from ctxtui.transcripts.kit.http_exchange.recorded_bodies import MAX_REFERENCED_BODIES
from ctxtui.wire.key_mask import MASKED, KeyMask, keys_in_query

_SECRET: Final = re.compile(r"auth|key|secret|token|cookie|credential|password|signature", re.IGNORECASE)
_NOT_SECRET: Final = re.compile(
    r"ratelimit|sec-websocket-(key|accept)$|idempotency-key$|max-tokens|authority$", re.IGNORECASE
)
"""Headers whose names look like those of secrets although their values are none."""
_SCHEME: Final = re.compile(r"^(?:bearer|basic|token)\s+", re.IGNORECASE)

Fields = Iterable[tuple[str, str]]


def is_secret(name: str) -> bool:
    return bool(_SECRET.search(name)) and not _NOT_SECRET.search(name)


def mask_fields(fields: Fields) -> list[tuple[str, str]]:
    return [(name, MASKED if is_secret(name) else value) for name, value in fields]


def mask_for(fields: Fields, url: str) -> KeyMask:
    """The mask for the keys in the headers `fields` and in `url`, as bodies may repeat them."""
    keys = [_SCHEME.sub("", value) for name, value in fields if is_secret(name)]
    first, *further = keys or [""]
    return KeyMask(first, *further, *keys_in_query(url))


_MAX_KEPT_BYTES: Final = 32 << 20
"""Maximum bytes of bodies kept for comparison; the newest is always kept."""
_STEP: Final = 1 << 16
"""Bytes that are compared at once."""
_encode: Final = msgspec.json.Encoder().encode


def encode_line(**members: Json) -> bytes:
    """A line without empty members."""
    return bytes(_encode({name: value for name, value in members.items() if value not in ("", None, [], {})})) + b"\n"


def encode_bytes(data: bytes) -> dict[str, Json]:
    try:
        return {"text": data.decode("utf-8")}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode("ascii")}


def encode_answer_line(x: str, at: float, data: bytes) -> bytes:
    try:
        return bytes(_encode({"x": x, "at": at, "data": data.decode("utf-8")})) + b"\n"
    except UnicodeDecodeError:
        return encode_line(x=x, at=at, data=base64.b64encode(data).decode("ascii"), base64=True)


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class Likeness(NamedTuple):
    """A body shares `head` first and `tail` last bytes with the earlier body `number`."""

    number: int
    head: int
    tail: int


def common_head(a: bytes, b: bytes) -> int:
    """Number of common leading bytes."""
    return _common_length(min(len(a), len(b)), lambda at, stop: a[at:stop] == b[at:stop])


def common_tail(a: bytes, b: bytes, limit: int) -> int:
    """Number of common trailing bytes, at most `limit`."""
    end = min(len(a), len(b), limit)
    return _common_length(end, lambda at, stop: a[len(a) - stop : len(a) - at] == b[len(b) - stop : len(b) - at])


def _common_length(end: int, is_equal: Callable[[int, int], bool]) -> int:
    at, step = 0, _STEP
    while at < end:
        stop = min(end, at + step)
        if is_equal(at, stop):
            at = stop
        elif stop - at == 1:
            return at
        else:
            # They differ within this step: halve it.
            step = max(1, (stop - at) // 2)
    return at


def find_most_similar(body: bytes, earlier_bodies: Sequence[bytes]) -> Likeness | None:
    """Find the body in `earlier_bodies` that has most in common with `body`.

    None if at most a third. Cuts are between UTF-8 characters.
    """
    best: Likeness | None = None
    for number, earlier_body in enumerate(earlier_bodies):
        head = common_head(body, earlier_body)
        while head and head < len(body) and body[head] & 0xC0 == 0x80:
            head -= 1
        tail = common_tail(body, earlier_body, min(len(body), len(earlier_body)) - head)
        while tail and body[len(body) - tail] & 0xC0 == 0x80:
            tail -= 1
        if best is None or head + tail > best.head + best.tail:
            best = Likeness(number, head, tail)
    return best if best is not None and 3 * (best.head + best.tail) > len(body) else None


class RecordedBodies:
    """The bodies of one recording, written as differences from similar earlier ones."""

    def __init__(self) -> None:
        self._earlier_bodies: OrderedDict[str, bytes] = OrderedDict()

    def encode(self, name: str, content: bytes, wire: bytes, encoding: str) -> dict[str, Json]:
        """Encode the body `content` of exchange `name`, sent as `wire` in `encoding` ("": as it is)."""
        encoded: dict[str, Json] = {"size": len(wire), "sha256": digest(wire)}
        if encoding:
            encoded["encoding"] = encoding
        names = list(reversed(self._earlier_bodies))
        likeness = find_most_similar(content, [self._earlier_bodies[earlier_name] for earlier_name in names])
        if likeness is None:
            encoded |= encode_bytes(content)
        else:
            own = content[likeness.head : len(content) - likeness.tail]
            encoded |= {
                "like": names[likeness.number],
                "head": likeness.head,
                "tail": likeness.tail,
                **encode_bytes(own),
            }
            # Later bodies will be like the new one; readers of the recording also discard the older one.
            del self._earlier_bodies[names[likeness.number]]
        self._earlier_bodies[name] = content
        while len(self._earlier_bodies) > MAX_REFERENCED_BODIES or (
            len(self._earlier_bodies) > 1 and self.size > _MAX_KEPT_BYTES
        ):
            self._earlier_bodies.popitem(last=False)
        return encoded

    @property
    def size(self) -> int:
        """Bytes kept for comparison."""
        return sum(map(len, self._earlier_bodies.values()))
