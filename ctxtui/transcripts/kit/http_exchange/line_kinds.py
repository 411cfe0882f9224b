"""The lines of recordings that ctxtui makes of what goes by, as they are written and read."""

from __future__ import annotations

from typing import Final

VERSION: Final = 1
"""Of the format."""
MARK: Final = "ctxtui_attached"
KNOWN: Final[dict[str, frozenset[str]]] = {
    MARK: frozenset(("run", "at", "session", "client", "version", "program", "cwd", "tags", "upstreams")),
    "asked": frozenset(("x", "at", "method", "url", "headers", "thread", "body")),
    "sent": frozenset(
        ("x", "at", "body", "applied", "asleep", "refused", "by", "released", "done", "trouble", "pinged", "played")
    ),
    "held": frozenset(("x", "at", "until")),
    "answered": frozenset(("x", "at", "status", "headers")),
    "data": frozenset(("x", "at", "base64")),
    "frame": frozenset(("x", "at", "by")),
    "ended": frozenset(("x", "at", "size", "sha256", "error")),
    "lost": frozenset(("at", "why")),
}
"""The kinds of lines, each named by a member of its own, with their other members."""
BODY: Final = frozenset(("size", "sha256", "encoding", "like", "head", "tail", "text", "base64", "left_out"))
"""Members of a body."""
KEPT_BODIES: Final = 6
"""Bodies that a later one may be told by: so many lines of context may take turns. One that was gone on with is
forgotten."""
