"""Bodies in ctxtui's own recordings of relayed traffic, for writer and readers.

A body that is mostly equal to an earlier one refers to it, because agents send their history again with each request.
"""

from __future__ import annotations

import base64
from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_count, as_str

VERSION: Final = 1
"""Version of the format."""
MARK: Final = "ctxtui_attached"
"""First member of a recording's first line, by which the format is detected."""
MAX_REFERENCED_BODIES: Final = 6
"""Bodies that later ones may refer to: as many threads may alternate. A body is dropped once another refers to it."""


class BodiesByReference:
    """The bodies of one recording, by exchange.

    Several processes may write one file; each refers to its own bodies.
    """

    def __init__(self) -> None:
        self._runs: dict[str, dict[str, bytes]] = {}

    def resolve(self, name: str, line: dict[str, Json], kind: str = "") -> bytes | None:
        """Return the body of exchange `name`; None if it refers to an unknown one.

        `kind`: "" for requests as the client sent them, ``sent`` for edited ones; they do not refer to each other. A
        body is its own text between the ``head`` first and the ``tail`` last bytes of an earlier body.
        """
        bodies = self._runs.setdefault(f"{name.partition('.')[0]} {kind}", {})
        body, like = decode_bytes(line), as_str(line.get("like"))
        if like:
            before = bodies.pop(like, None)
            if before is None:
                return None
            body = before[: as_count(line.get("head"))] + body + before[len(before) - as_count(line.get("tail")) :]
        self._keep_recent(bodies, name, body)
        return body

    def mark_lost(self, name: str) -> None:
        """Register an unknown body; a later body that refers to it has only its own text."""
        self._keep_recent(self._runs.setdefault(f"{name.partition('.')[0]} ", {}), name, b"")

    def _keep_recent(self, bodies: dict[str, bytes], name: str, body: bytes) -> None:
        bodies[name] = body
        while len(bodies) > MAX_REFERENCED_BODIES:
            del bodies[next(iter(bodies))]


def decode_bytes(line: dict[str, Json]) -> bytes:
    if "base64" in line:
        try:
            return base64.b64decode(as_str(line["base64"]))
        except ValueError:
            return b""
    return as_str(line.get("text")).encode("utf-8", "surrogatepass")
