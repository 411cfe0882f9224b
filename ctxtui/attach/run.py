"""A run of a relay: metadata of its recordings, and the session of each request."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct, field

from ctxtui.attach.lines import digest
from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_dict, as_str
from ctxtui.transcripts.kit.fields import as_dicts
from ctxtui.transcripts.kit.http_exchange.pair import Sender, parse_body, read_session
from ctxtui.wire.key_mask import mask_url

TALK, OTHER = "talk-", "other-"
"""Prefixes of sessions that no client names: one per conversation, or one per host."""


class RecordedRun(Struct):
    """Metadata at the beginning of every recording of a run.

    `session`: for requests that name none ("": one session per conversation or host); `program`: the client's name for
    requests that do not name it.
    """

    folder: Path
    run: str
    session: str = ""
    program: str = ""
    cwd: str = ""
    tags: tuple[str, ...] = ()
    upstreams: Mapping[str, str] = field(default_factory=dict)
    clock: Callable[[], float] = time.time


def find_session(sender: Sender, run_session: str, url: str, body: bytes) -> str:
    return sender.session or read_session(sender, body) or run_session or session_of(url, body)


def session_of(url: str, body: bytes) -> str:
    """The session of a request whose client names none, by the text of its first user message.

    The id is made from the text and the host; from the host alone if the body has none of ``messages``, ``input`` and
    ``contents``.
    """
    request = as_dict(parse_body(body))
    # Google's Code Assist nests the request.
    request = {**as_dict(request.get("request")), **request}
    messages = next((request[key] for key in ("messages", "input", "contents") if request.get(key) is not None), None)
    host = mask_url(url).partition("://")[2].partition("/")[0]
    if messages is None:
        return f"{OTHER}{host.replace(':', '-')}"
    listed = as_dicts([messages] if isinstance(messages, dict) else messages)
    first = next((message for message in listed if _is_by_user(message)), {"content": messages})
    content = first.get("content", first.get("parts"))
    # Clients move cache breakpoints between requests, and a breakpoint turns a string into a list: only texts count.
    parts = as_dicts([content] if isinstance(content, dict) else content)
    texts = [content] if isinstance(content, str) else [as_str(part.get("text")) for part in parts]
    return f"{TALK}{digest(repr((host, texts)).encode('utf-8', 'surrogatepass'))[:24]}"


def _is_by_user(message: Mapping[str, Json]) -> bool:
    """Google's messages have ``parts``; without a role they are the user's."""
    return as_str(message.get("role", "user" if "parts" in message else "")) == "user"


def new_run_name() -> str:
    return os.urandom(4).hex()
