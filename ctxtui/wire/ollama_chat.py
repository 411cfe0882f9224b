"""Ollama's own ``/api/chat``: answers and streams of JSON lines (facts §5).

Unlike Chat, a picture is bare base64 next to the text, a call's arguments are an object, and thinking is a member of
the message.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.core.errors import Malformed
from ctxtui.core.json_values import as_str
from ctxtui.wire.grammar import OLLAMA_SHAPE
from ctxtui.wire.message import split_message
from ctxtui.wire.request import Response
from ctxtui.wire.sse import ServerEvent
from ctxtui.wire.stream import Delta, error_text, merge_delta, parse_answer
from ctxtui.wire.usage import chat_usage

_MAPPED_KEYS: Final = frozenset({"model", "message", "done", "done_reason", "error"})
"""Members of an answer that become fields of `Response`."""
_RESENT_KEYS: Final = ("role", "content", "thinking", "tool_calls")
"""Members of a message that a client sends again."""


def decode_response(body: bytes | Json) -> Response:
    """Decode an answer (JSON bytes or the parsed value), or an error. Raises `Malformed`.

    The durations (nanoseconds) stay in `extra`.
    """
    value = parse_answer(body)
    message = value.get("message")
    if not isinstance(message, dict):
        if "error" not in value:
            raise Malformed("message is missing", place="$", way_out="is this an answer of another dialect?")
        return Response(error=error_text(value), extra=dict(value))
    resent_message = {
        key: message[key] for key in _RESENT_KEYS if key in message and (message[key] or key == "content")
    }
    resent_message = {"role": "assistant", "content": "", **resent_message}
    other_members = {key: item for key, item in message.items() if key not in _RESENT_KEYS and item not in (None, [])}
    extra = {key: item for key, item in value.items() if key not in _MAPPED_KEYS and item is not None}
    return Response(
        items=tuple(part.item for part in split_message(resent_message, "$.message", OLLAMA_SHAPE)),
        usage=chat_usage(None, value),
        model=as_str(value.get("model")),
        stop_reason=as_str(value.get("done_reason")),
        error=error_text(value) if value.get("error") else "",
        complete=value.get("done") is not False,
        extra={**extra, **({"message": other_members} if other_members else {})},
    )


class StreamReader:
    """Assembles a streamed answer from its lines; see `stream.StreamReader`."""

    def __init__(self) -> None:
        self._top: dict[str, Json] = {}
        self._message: dict[str, Json] = {"role": "assistant", "content": ""}
        self._shown: dict[str, int] = {}
        self._error = ""

    def feed(self, events: Iterable[ServerEvent]) -> list[Delta]:
        return [delta for event in events for delta in self._handle_line(event.value())]

    def _handle_line(self, value: Json) -> Iterator[Delta]:
        if not isinstance(value, dict):
            return
        if value.get("error"):
            self._error = error_text(value)
        self._top |= {key: item for key, item in value.items() if key not in ("message", "error") and item is not None}
        delta = value.get("message")
        if not isinstance(delta, dict):
            return
        merge_delta(self._message, delta, skip=frozenset({"role"}))
        for key, item in delta.items():
            if isinstance(item, str) and item and key != "role":
                kind = "text" if key == "content" else key
                yield Delta(self._shown.setdefault(kind, len(self._shown)), kind, item)

    def response(self) -> Response:
        response = decode_response({**self._top, "message": self._message})
        return response if self._top.get("done") is True and not self._error else response.as_interrupted(self._error)
