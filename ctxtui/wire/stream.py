"""Common parts of the stream readers of all dialects: protocol, deltas, and merging these."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from ctxtui.core import canonical
from ctxtui.core.canonical import Json
from ctxtui.core.errors import Malformed
from ctxtui.wire.request import Response
from ctxtui.wire.sse import ServerEvent


class Delta(NamedTuple):
    """New text of a streaming answer in block number `block` (0-based) of `kind`."""

    block: int
    kind: str
    text: str


class StreamReader(Protocol):
    """Assembles one streamed answer; the result equals the dialect's non-streamed answer."""

    def feed(self, events: Iterable[ServerEvent]) -> list[Delta]:
        """Add events; unknown ones add nothing."""

    def response(self) -> Response:
        """The answer received so far.

        `Response.complete` is False until the stream's end has arrived.
        """


def merge_delta(into: dict[str, Json], delta: dict[str, Json], skip: frozenset[str] = frozenset()) -> None:
    """Merge a delta: append strings, extend lists, merge objects, replace other values.

    Members in `skip` are left out, at the top level only.
    """
    for key, value in delta.items():
        old = into.get(key)
        if key in skip or (value is None and key in into):
            continue
        if isinstance(old, str) and isinstance(value, str):
            into[key] = old + value
        elif isinstance(old, list) and isinstance(value, list):
            into[key] = [*old, *value]
        elif isinstance(old, dict) and isinstance(value, dict):
            into[key] = {**old}
            merge_delta(into[key], value)
        else:
            into[key] = value


def parse_answer(body: bytes | Json) -> dict[str, Json]:
    """Parse an answer (JSON bytes or a value). Raises `Malformed` if it is not an object."""
    try:
        value = canonical.loads(body) if isinstance(body, bytes) else body
    except (ValueError, RecursionError) as error:
        raise Malformed(f"an answer that is no JSON: {error}", place="$") from None
    if not isinstance(value, dict):
        raise Malformed("an answer must be an object", place="$")
    return value


def error_text(value: Json) -> str:
    """A provider's error as its kind and message: ``overloaded_error: Overloaded``."""
    error = value.get("error", value) if isinstance(value, dict) else value
    if not isinstance(error, dict):
        return error if isinstance(error, str) else canonical.dump_text(error)
    kind = error.get("type") or error.get("code") or ""
    message = error.get("message") or ""
    parts = [canonical.dump_text(w) if not isinstance(w, str) else w for w in (kind, message) if w]
    return ": ".join(parts) or canonical.dump_text(error)
