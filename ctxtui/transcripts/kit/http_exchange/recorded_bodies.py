"""Bodies as recordings of what goes by tell them: whole, or as what is new beside one before."""

from __future__ import annotations

import base64
import binascii

from ctxtui.core.canonical import Json
from ctxtui.transcripts.kit.fields import count, word
from ctxtui.transcripts.kit.http_exchange.line_kinds import KEPT_BODIES


class BodiesByReference:
    """The bodies of one recording, by exchange; several processes may write one file, and each knows its own."""

    def __init__(self) -> None:
        self._runs: dict[str, dict[str, bytes]] = {}

    def body(self, name: str, told: dict[str, Json], kind: str = "") -> bytes | None:
        """The body of exchange `name` (of its `kind`): its own text between the `head` first and the `tail` last bytes
        of one before; None without that."""
        bodies = self._runs.setdefault(f"{name.partition('.')[0]} {kind}", {})
        own, like = bytes_of(told), word(told.get("like"))
        if like:
            before = bodies.pop(like, None)
            if before is None:
                return None
            own = before[: count(told.get("head"))] + own + before[len(before) - count(told.get("tail")) :]
        self._keep(bodies, name, own)
        return own

    def lost(self, name: str) -> None:
        """The body of exchange `name` is not known: a later one that is told by it is empty before what is new."""
        self._keep(self._runs.setdefault(f"{name.partition('.')[0]} ", {}), name, b"")

    def _keep(self, bodies: dict[str, bytes], name: str, body: bytes) -> None:
        bodies[name] = body
        while len(bodies) > KEPT_BODIES:
            del bodies[next(iter(bodies))]


def bytes_of(told: dict[str, Json]) -> bytes:
    """What a line tells as ``text`` or ``base64``."""
    if "base64" in told:
        try:
            return base64.b64decode(word(told["base64"]))
        except (binascii.Error, ValueError):
            return b""
    return word(told.get("text")).encode("utf-8", "surrogatepass")
