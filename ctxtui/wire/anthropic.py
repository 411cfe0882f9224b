"""Anthropic Messages: answers and event streams (facts §1)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ctxtui.core import canonical
from ctxtui.core.canonical import Json
from ctxtui.core.errors import Malformed
from ctxtui.core.json_values import as_dict, as_str
from ctxtui.wire.grammar import PLAIN_SHAPE
from ctxtui.wire.message import split_message
from ctxtui.wire.request import Response
from ctxtui.wire.sse import ServerEvent
from ctxtui.wire.stream import Delta, error_text, merge_delta, parse_answer
from ctxtui.wire.usage import anthropic_passes, extra_usage

_MAPPED_KEYS: Final = frozenset({"id", "type", "role", "model", "content", "stop_reason", "usage"})
"""Members of an answer that become fields or blocks of `Response`, or that every answer has."""
_BILLING_KEYS: Final = ("service_tier", "speed", "inference_geo", "server_tool_use")
"""Members of a report that decide its price besides tokens."""
_DELTA_TEXT_KEYS: Final = ("text", "thinking", "partial_json", "content")
"""Members of a delta that may hold new text."""


def decode_response(body: bytes | Json) -> Response:
    """Decode an answer (JSON bytes or the parsed value), or an error. Raises `Malformed`."""
    value = parse_answer(body)
    if value.get("type") == "error" or "content" not in value:
        if "error" not in value:
            raise Malformed("content is missing", place="$", way_out="is this an answer of another dialect?")
        return Response(error=error_text(value), extra=dict(value))
    usage, passes = anthropic_passes(value.get("usage"))
    parts = split_message({"role": value.get("role", "assistant"), "content": value["content"]}, "$", PLAIN_SHAPE)
    extra = {key: item for key, item in value.items() if key not in _MAPPED_KEYS and item is not None}
    report = value.get("usage")
    extra |= {key: report[key] for key in _BILLING_KEYS if isinstance(report, dict) and report.get(key) is not None}
    if isinstance(report, dict):
        rest = {key: item for key, item in report.items() if key not in (*_BILLING_KEYS, "iterations")}
        # Of several passes the whole report is kept: `usage.other_passes` reads those before the answer from it.
        extra |= {"usage": report} if passes else extra_usage(rest)
    return Response(
        items=tuple(part.item for part in parts),
        usage=usage,
        id=as_str(value.get("id")),
        model=as_str(value.get("model")),
        stop_reason=as_str(value.get("stop_reason")),
        passes=passes,
        extra=extra,
    )


class StreamReader:
    """Assembles a streamed message from its events (`stream.StreamReader`)."""

    def __init__(self) -> None:
        self._message: dict[str, Json] = {"role": "assistant", "content": []}
        self._usage: dict[str, Json] = {}
        self._blocks: dict[int, dict[str, Json]] = {}
        self._json: dict[int, str] = {}
        self._error = ""
        self._stopped = False

    def feed(self, events: Iterable[ServerEvent]) -> list[Delta]:
        return [delta for event in events if (delta := self._handle_event(event.value())) is not None]

    def _handle_event(self, value: Json) -> Delta | None:
        if not isinstance(value, dict):
            return None
        match value.get("type"):
            # The most frequent event first.
            case "content_block_delta":
                return self._handle_delta(_read_index(value), as_dict(value.get("delta")))
            case "message_start" if isinstance(value.get("message"), dict):
                self._message |= value["message"]
                merge_delta(self._usage, as_dict(value["message"].get("usage")))
            case "content_block_start":
                self._blocks[_read_index(value)] = dict(as_dict(value.get("content_block")))
            case "message_delta":
                self._message |= {k: v for k, v in as_dict(value.get("delta")).items() if v is not None}
                other_members = {k: v for k, v in value.items() if k not in ("type", "delta", "usage")}
                self._message |= other_members
                # Cumulative figures; only the first report splits cache writes.
                self._usage |= {k: v for k, v in as_dict(value.get("usage")).items() if v is not None}
            case "message_stop":
                self._stopped = True
            case "error":
                self._error = error_text(value)
        return None

    def _handle_delta(self, index: int, delta: dict[str, Json]) -> Delta:
        block = self._blocks.get(index)
        if block is None:
            block = self._blocks[index] = {"type": "text", "text": ""}
        text = ""
        for key in _DELTA_TEXT_KEYS:
            value = delta.get(key)
            if isinstance(value, str):
                text = value
                break
        if delta.get("type") == "input_json_delta":
            self._json[index] = self._json.get(index, "") + text
        elif delta.get("type") == "citations_delta":
            merge_delta(block, {"citations": [delta.get("citation")]})
        else:
            merge_delta(block, delta, skip=frozenset({"type"}))
        return Delta(index, str(block.get("type", "")), text)

    def response(self) -> Response:
        """The answer so far; a tool's input that is not complete JSON stays the text that arrived."""
        content = [self._block_at(index) for index in sorted(self._blocks)]
        message = {**self._message, "content": content, "usage": self._usage or None}
        # A fallback block names the model that continued the answer.
        served = [as_dict(block.get("to")).get("model") for block in content if block.get("type") == "fallback"]
        if served and isinstance(served[-1], str):
            message["model"] = served[-1]
        response = decode_response(message)
        return response if self._stopped and not self._error else response.as_interrupted(self._error)

    def _block_at(self, index: int) -> dict[str, Json]:
        block = self._blocks[index]
        text = self._json.get(index, "")
        if not text:
            return block
        try:
            return {**block, "input": canonical.loads(text)}
        except (ValueError, RecursionError):
            return {**block, "input": text}


def _read_index(value: dict[str, Json]) -> int:
    index = value.get("index")
    return index if isinstance(index, int) else 0
