"""The lines of an attached recording, as they are written (`transcripts/formats/attached` reads them)."""

from __future__ import annotations

import base64
import hashlib
from collections import OrderedDict
from typing import Final

import msgspec

from ctxtui.attach.like import likest
from ctxtui.core.canonical import Json
from ctxtui.transcripts.kit.http_exchange.line_kinds import KEPT_BODIES

_MOST: Final = 32 << 20
"""Bytes of bodies that later ones are told by; the newest counts whatever its size."""
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
        while len(self._before) > KEPT_BODIES or (len(self._before) > 1 and self.size > _MOST):
            self._before.popitem(last=False)
        return made

    @property
    def size(self) -> int:
        """Bytes that are kept for later ones."""
        return sum(map(len, self._before.values()))
