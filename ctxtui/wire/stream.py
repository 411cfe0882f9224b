"""What the stream readers of all dialects share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from ctxtui.core import canonical
from ctxtui.core.canonical import Json
from ctxtui.core.errors import Malformed
from ctxtui.wire.request import Response
from ctxtui.wire.sse import ServerEvent


class Delta(NamedTuple):
    """New words of an answer that is being streamed: `block` numbers its blocks (0-based), `kind` is the block's."""

    block: int
    kind: str
    text: str


class StreamReader(Protocol):
    """Assembles one streamed answer; the result is the same as the dialect's answer in one piece."""

    @property
    def finished(self) -> bool:
        """Whether the stream has said its end (or an error)."""

    def feed(self, events: Iterable[ServerEvent]) -> list[Delta]:
        """Take in events; returns what they add, in order."""

    def response(self) -> Response:
        """The answer as far as it came; `complete` is False while the stream has not said its end."""


def merge(into: dict[str, Json], news: dict[str, Json], skip: frozenset[str] = frozenset()) -> None:
    """Add a delta to a value: strings grow, lists are extended, objects merged, nulls say nothing, all else replaces.

    Deltas of kinds unknown here follow the same habit, so nothing of them is lost.
    """
    for key, value in news.items():
        old = into.get(key)
        if key in skip or (value is None and key in into):
            continue
        if isinstance(old, str) and isinstance(value, str):
            into[key] = old + value
        elif isinstance(old, list) and isinstance(value, list):
            into[key] = [*old, *value]
        elif isinstance(old, dict) and isinstance(value, dict):
            into[key] = {**old}
            merge(into[key], value)
        else:
            into[key] = value


def answer_value(body: bytes | Json) -> dict[str, Json]:
    """The object of an answer, given as JSON bytes or as its value. Raises `Malformed` where it is none."""
    try:
        value = canonical.loads(body) if isinstance(body, bytes) else body
    except (ValueError, RecursionError) as error:
        raise Malformed(f"an answer that is no JSON: {error}", place="$") from None
    if not isinstance(value, dict):
        raise Malformed("an answer must be an object", place="$")
    return value


def error_words(value: Json) -> str:
    """A provider's error as one line: ``overloaded_error: Overloaded``."""
    error = value.get("error", value) if isinstance(value, dict) else value
    if not isinstance(error, dict):
        return error if isinstance(error, str) else canonical.dump_text(error)
    kind = error.get("type") or error.get("code") or ""
    message = error.get("message") or ""
    words = [canonical.dump_text(w) if not isinstance(w, str) else w for w in (kind, message) if w]
    return ": ".join(words) or canonical.dump_text(error)
