"""Types of requests and replies of the simulated APIs, independent of HTTP."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Final, NoReturn

from msgspec import Struct, field

from ctxtui.core.canonical import Json

_ESCAPE: Final = re.compile(
    r"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|u[dD](?:(?P<high>[89abAB])|(?P<low>[c-fC-F]))..|.)", re.DOTALL
)
"""An escape in a string; a surrogate pair is one match.

`high` or `low` matches a surrogate without its partner.
"""


class NotJson(ValueError):
    """The bytes are no JSON object.

    The message gives the reason, and the position of a syntax error.
    """


def parse(body: bytes) -> dict[str, Json]:
    """Parse `body` as a JSON object.

    Raises `NotJson`, also for invalid UTF-8, NaN, lone surrogates, integers of more than 4,300 digits and too deep
    nesting.
    """
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise NotJson(f"invalid UTF-8 at byte {error.start}") from None
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
        _refuse_surrogates(text)
    except json.JSONDecodeError as error:
        raise NotJson(f"{error.msg}: line {error.lineno} column {error.colno} (char {error.pos})") from None
    except NotJson:
        raise
    except RecursionError:
        raise NotJson("nested too deeply") from None
    except ValueError:
        raise NotJson(f"an integer of more than {sys.get_int_max_str_digits():,} digits") from None
    if not isinstance(value, dict):
        raise NotJson("the body is not an object")
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise NotJson(f"{name} is not a JSON value")


def _refuse_surrogates(text: str) -> None:
    if "\\ud" not in text and "\\uD" not in text:
        return
    for escape in _ESCAPE.finditer(text):
        if escape["high"] or escape["low"]:
            missing = "low" if escape["high"] else "high"
            raise json.JSONDecodeError(f"no {missing} surrogate in string", text, escape.start())


class StoredResponse(Struct):
    """A response of OpenAI's Responses API that a later request may continue.

    `items` are the whole conversation with the response's output; `size`: bytes of the request's body.
    """

    items: list[Json]
    response: dict[str, Json]
    size: int


class CachedContent(Struct):
    """Contents that Google's API keeps for `model` until `expires` (Unix seconds).

    `contents` are members of a request (``contents``, ``tools`` ...), in camel case; `tokens` is the size of these.
    """

    name: str
    model: str
    contents: dict[str, Json]
    tokens: int
    created: float
    updated: float
    expires: float
    title: str = ""

    def resource(self) -> dict[str, Json]:
        title = {"displayName": self.title} if self.title else {}
        return {
            "name": self.name,
            "model": f"models/{self.model}",
            "createTime": _format_time(self.created),
            "updateTime": _format_time(self.updated),
            "expireTime": _format_time(self.expires),
            **title,
            "usageMetadata": {"totalTokenCount": self.tokens},
        }


def _format_time(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class ApiRequest(Struct, frozen=True):
    """A request: its body as bytes and as JSON, and its headers by lower-case name.

    `socket_responses`: by id, the responses on its WebSocket, which it may continue and to which its own is added.
    None: the request came by HTTP.
    """

    raw: bytes
    body: dict[str, Json]
    headers: Mapping[str, str]
    socket_responses: dict[str, StoredResponse] | None = None

    @property
    def model(self) -> str:
        """The model that the body names; "None" if it names none (Google's is in the path)."""
        return str(self.body.get("model"))

    @property
    def streams(self) -> bool:
        """Whether the body asks for a stream (Anthropic, OpenAI), or the request came by WebSocket."""
        return self.socket_responses is not None or self.body.get("stream") is True


def _nothing() -> None:
    return None


class Reply(Struct, frozen=True, kw_only=True):
    """The reply to an accepted request: an answer, a count or a resource.

    - `events`: the answer as a stream of `media_type`, sent instead of `body`; None: no stream.
    - `begin`: called just before the answer is sent; from then on, other requests can read what it wrote to the cache.
    - `failure_event`: what a stream ends with if it breaks in the middle, for simulated faults.
    """

    status: int = 200
    body: Json = None
    events: tuple[bytes, ...] | None = None
    headers: dict[str, str] = field(default_factory=dict)
    begin: Callable[[], None] = _nothing
    failure_event: bytes = b""
    media_type: str = "text/event-stream"
    output_tokens: int = 0


def named_event(name: str, value: Json) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + compact(value) + b"\n\n"


def data_event(value: Json) -> bytes:
    return b"data: " + compact(value) + b"\n\n"


_minified: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def compact(value: Json) -> bytes:
    return _minified(value).encode("utf-8", "backslashreplace")


def named_events(values: Iterable[dict[str, Json]]) -> tuple[bytes, ...]:
    return tuple(named_event(str(value["type"]), value) for value in values)


_PIECE: Final = re.compile(r"\s*\S{1,10}|\s+")
_MAX_PIECES: Final = 100
"""Maximum pieces of one text in a stream: in recordings of Anthropic, a delta of a long answer has 90 characters."""


def split_text(text: str) -> list[str]:
    """Split `text` into pieces of a token or two, or into at most a hundred larger ones."""
    pieces = _PIECE.findall(text)
    size = -(-len(pieces) // _MAX_PIECES)
    return ["".join(pieces[n : n + size]) for n in range(0, len(pieces), size)] if size > 1 else pieces


INVALID_REQUEST: Final = "invalid_request_error"


class Refusal(Struct, frozen=True):
    """One reason to refuse a request.

    - `message`: in the provider's own words if known.
    - `param`, `code`: OpenAI's fields; `code` is also Anthropic's ``details.error_code``.
    - `rule`: the violated rule in a few words; that of a rate limit ends in the seconds to wait.
    """

    message: str
    status: int = 400
    type: str = INVALID_REQUEST
    param: str | None = None
    code: str | None = None
    rule: str = ""
