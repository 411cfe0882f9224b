"""A recorded run: metadata of its recordings, and the session of each request."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct, field

from ctxtui.attach.lines import digest
from ctxtui.transcripts.kit.fields import as_dicts, as_str
from ctxtui.transcripts.kit.http_exchange.pair import parse_body

TALK, OTHER = "talk-", "other-"
"""Name prefixes of sessions whose client names none: by conversation, or by host."""


class RecordedRun(Struct):
    """Metadata at the beginning of every recording of a run.

    `run` names it, `session` is that of requests whose client names none ("": by the beginning of their conversation),
    `program` the command that runs.
    """

    folder: Path
    run: str
    session: str = ""
    program: str = ""
    cwd: str = ""
    tags: tuple[str, ...] = ()
    upstreams: Mapping[str, str] = field(default_factory=dict)
    clock: Callable[[], float] = time.time


def session_of(url: str, body: bytes) -> str:
    """The session of a request whose client names none.

    It is named by the first user message and the host; by the host alone if the body has neither ``messages`` nor
    ``input``.
    """
    request = parse_body(body)
    messages = request.get("messages", request.get("input")) if isinstance(request, dict) else None
    host = url.partition("://")[2].partition("/")[0]
    if messages is None:
        return f"{OTHER}{host.replace(':', '-')}"
    first = next((message for message in as_dicts(messages) if message.get("role") == "user"), {"content": messages})
    content = first.get("content")
    # Cache breakpoints move from request to request: only the texts count.
    texts = content if isinstance(content, str) else [as_str(part.get("text")) for part in as_dicts(content)]
    return f"{TALK}{digest(repr((host, texts)).encode('utf-8', 'surrogatepass'))[:24]}"


def new_run_name() -> str:
    """A unique name for a run."""
    return os.urandom(4).hex()
