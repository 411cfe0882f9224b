"""New sessions for a tool to resume, made of a context that another tool recorded: what their writers have in common.

The context comes as a request in the dialect of the tool. What only its first provider can read, and what a tool writes
itself, stays out and is named: a signature or an encrypted item is refused behind another system prompt (facts §1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, Final

from msgspec import Struct

from ctxtui.transcripts.kit.resume import ResumedFile
from ctxtui.wire.translate.turns import Losses

Body = dict[str, Any]

OWN: Final = "system prompt and tools: the tool writes its own"
ONLY_THERE: Final = ", which only the session that it comes from can send"


class TranslatedOrder(Struct, frozen=True, kw_only=True):
    """What a new session is made of: a request `body` in the tool's dialect, less what the tool cannot resume with.

    `ids` gives random UUIDs, `now` is in Unix seconds, `cwd` is the directory in which the session ran ("": unknown).
    """

    body: Body
    ids: Iterator[str]
    now: float
    cwd: str = ""


class Translation(Struct, frozen=True):
    """How a context becomes a session of a tool: the `dialect` it speaks, what of a request it resumes with (`kept`,
    which notes what it leaves out), and the file."""

    dialect: str
    kept: Callable[[Body, Losses], Body]
    write: Callable[[TranslatedOrder], ResumedFile]


def stamp(now: float) -> str:
    """The time `now` (Unix seconds) as records have it."""
    return datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
