"""OpenAI Responses: answers and event streams (facts §4)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.core.errors import Malformed
from ctxtui.core.json_values import as_str
from ctxtui.wire.grammar import split_item
from ctxtui.wire.request import Response
from ctxtui.wire.sse import ServerEvent
from ctxtui.wire.stream import Delta, error_text, merge_delta, parse_answer
from ctxtui.wire.usage import extra_usage, responses_usage

_MAPPED_KEYS: Final = frozenset({"id", "model", "output", "usage", "object", "status", "error"})
"""Members of an answer that become fields of `Response`."""
_ECHOED_KEYS: Final = frozenset({"instructions", "tools", "input", "text", "reasoning", "tool_choice"})
"""Members of an answer that repeat the request."""
_ENDS: Final = frozenset({"response.completed", "response.incomplete", "response.failed", "response.cancelled"})
"""Events that end a stream."""


def decode_response(body: bytes | Json) -> Response:
    """Decode an answer (JSON bytes or the parsed value), or an error. Raises `Malformed`.

    The stop reason is the reason of an incomplete answer, else its status.
    """
    value = parse_answer(body)
    output = value.get("output")
    if not isinstance(output, list):
        if value.get("error"):
            return Response(error=error_text(value), extra=dict(value))
        raise Malformed("output is missing", place="$", way_out="is this an answer of another dialect?")
    parts = [part for n, item in enumerate(output) for part in split_item(item, f"$.output[{n}]")]
    details = value.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, dict) else None
    return Response(
        items=tuple(part.item for part in parts),
        usage=responses_usage(value.get("usage")),
        id=as_str(value.get("id")),
        model=as_str(value.get("model")),
        stop_reason=as_str(reason) or as_str(value.get("status")),
        error=error_text(value["error"]) if value.get("error") else "",
        complete=value.get("status") not in ("in_progress", "queued"),
        extra={k: v for k, v in value.items() if k not in _MAPPED_KEYS | _ECHOED_KEYS and v is not None}
        | extra_usage(value.get("usage")),
    )


def _to_list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else [value] if value else []


class StreamReader:
    """Assembles a streamed response from its typed events; see `stream.StreamReader`.

    The last event holds the whole answer, unless the stream was interrupted or an endpoint leaves its output empty.
    """

    def __init__(self) -> None:
        self._response: dict[str, Json] = {}
        self._items: dict[int, dict[str, Json]] = {}
        self._parts: dict[int, dict[str, dict[int, Json]]] = {}
        """Parts that deltas extend, by item, by member of the item and by index."""
        self._error = ""
        self._ended = False

    def feed(self, events: Iterable[ServerEvent]) -> list[Delta]:
        return [delta for event in events if (delta := self._handle_event(event.value())) is not None]

    def _handle_event(self, value: Json) -> Delta | None:
        if not isinstance(value, dict) or not isinstance(value.get("type"), str):
            return None
        kind: str = value["type"]
        index = value.get("output_index")
        item_index = index if isinstance(index, int) else 0
        if isinstance(value.get("response"), dict):
            self._response |= value["response"]
            self._ended = self._ended or kind in _ENDS
        elif kind in ("response.output_item.added", "response.output_item.done"):
            if isinstance(value.get("item"), dict):
                self._items[item_index] = dict(value["item"])
                self._parts.pop(item_index, None)
        elif kind == "error":
            self._error = error_text(value)
        elif kind.endswith(".delta") and isinstance(value.get("delta"), str):
            return self._handle_delta(kind.removeprefix("response.").removesuffix(".delta"), value, item_index)
        return None

    def _handle_delta(self, delta_kind: str, value: dict[str, Json], item_index: int) -> Delta:
        item = self._items.setdefault(item_index, {"type": "message", "role": "assistant", "content": []})
        text: str = value["delta"]
        if delta_kind in _STRING_DELTAS:
            merge_delta(item, {_STRING_DELTAS[delta_kind]: text})
        elif delta_kind in _LIST_DELTAS:
            field, position, kind, text_key = _LIST_DELTAS[delta_kind]
            parts = self._parts.setdefault(item_index, {}).setdefault(field, dict(enumerate(_to_list(item.get(field)))))
            index = value.get(position)
            number = index if isinstance(index, int) else 0
            part = parts.get(number, {"type": kind, text_key: ""})
            if isinstance(part, dict):
                parts[number] = {**part}
                merge_delta(parts[number], {text_key: text})
        return Delta(item_index, str(item.get("type", "")), text)

    def response(self) -> Response:
        items = [self._assemble(n) for n in sorted(self._items)]
        output = (self._response.get("output") if self._ended else None) or items
        response = decode_response({**self._response, "output": output})
        return response if self._ended and not self._error else response.as_interrupted(self._error)

    def _assemble(self, item_index: int) -> dict[str, Json]:
        parts = self._parts.get(item_index, {})
        return self._items[item_index] | {field: [of[n] for n in sorted(of)] for field, of in parts.items()}


_STRING_DELTAS: Final = {
    "function_call_arguments": "arguments",
    "mcp_call_arguments": "arguments",
    "custom_tool_call_input": "input",
    "code_interpreter_call_code": "code",
}
"""The member of an item that a delta extends, by kind of delta."""
_LIST_DELTAS: Final = {
    "output_text": ("content", "content_index", "output_text", "text"),
    "refusal": ("content", "content_index", "refusal", "refusal"),
    "reasoning_text": ("content", "content_index", "reasoning_text", "text"),
    "reasoning_summary_text": ("summary", "summary_index", "summary_text", "text"),
}
"""By kind of delta: a list of the item, the delta's index in it, the part's kind, its text's member."""
